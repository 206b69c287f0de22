'use strict';
// What the words of the page mean: said where they stand, beside the pointer, and in one list.

const WORDS = {
  'window': 'the ops that were handed to the device together: the engine sees them at once, and ' +
      'may fuse them',
  'plans': 'what is to run for a window is planned once (a miss) and used again by windows that ' +
      'are alike (hits)',
  'plan hit': 'the plan of an earlier window that is alike was used',
  'plan miss': 'the first window of its kind: it had to be planned',
  'distinct graphs': 'windows of one graph have the same ops, plan and places',
  'steps': 'what the window runs: kernels, each of which computes one or more ops in one pass, and ' +
      'library calls',
  'elided': 'temporaries that never were in memory, as the kernel that reads them computes them',
  'bytes elided': 'of temporaries that never were in memory, as the kernel that reads them ' +
      'computes them',
  'cut': 'a value goes through memory from one step to another, or to whoever holds it',
  'observed': 'somebody still holds the value, or an op that is still pending reads it, so it is ' +
      'written',
  'tier': 'generic: interpreted, at once and without a compiler; compiled: by machine code, once ' +
      'that is made',
  'temporary': 'nobody holds it, and it never is in memory',
  'in memory': 'a step writes it, and another reads it',
  'live': 'it was held when the window was flushed',
};

// Attributes that say what `word` means; none if it speaks for itself.
function meaning(word) {
  return WORDS[word] ? {'title': `${word}: ${WORDS[word]}`, 'data-word': word} : {};
}

function allWords() {
  return html('details', {class: 'words'}, html('summary', {}, 'What the words mean'),
      html('dl', {}, Object.entries(WORDS).map(([word, text]) => [
        html('dt', {}, word), html('dd', {}, text),
      ])));
}

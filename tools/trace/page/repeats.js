'use strict';
// Bodies of loops in a list: what repeats is shown once. As trace/repeats.cpp.

const LONGEST_BODY = 64;
const FEWEST_REPEATS = 4;

// Parts a list of keys: [{begin, length, count}], of which `count` bodies of `length` keys follow
// one another from `begin` on. What does not repeat has count 1.
function findRepeats(keys) {
  const parts = [];
  for (let begin = 0; begin < keys.length;) {
    let best = {begin, length: 1, count: 1};
    for (let length = 1; length <= LONGEST_BODY && begin + 2 * length <= keys.length; ++length) {
      let end = begin + length;
      while (end < keys.length && keys[end] === keys[end - length]) ++end;
      const count = Math.floor((end - begin) / length);
      // Of bodies that explain as much the shortest.
      if (count >= FEWEST_REPEATS && count * length > best.count * best.length) {
        best = {begin, length, count};
      }
    }
    const last = parts.at(-1);
    if (best.count === 1 && last?.count === 1) {
      ++last.length;
    } else {
      parts.push(best);
    }
    begin += best.count * best.length;
  }
  return parts;
}

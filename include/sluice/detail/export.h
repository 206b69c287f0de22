// What programs may link to: what is declared in a `namespace SLUICE_EXPORT sluice`. The library is
// compiled with hidden visibility.
#ifndef SLUICE_DETAIL_EXPORT_H_
#define SLUICE_DETAIL_EXPORT_H_

#define SLUICE_EXPORT [[gnu::visibility("default")]]

#endif  // SLUICE_DETAIL_EXPORT_H_

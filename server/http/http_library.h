/* Which versions of the HTTP library, libmicrohttpd, all tests of this program passed with. */
#ifndef CAIRN_SERVER_HTTP_LIBRARY_H
#define CAIRN_SERVER_HTTP_LIBRARY_H

#include <stdbool.h>

#define HTTP_LIBRARY_DEBIAN_12 "0.9.75"
#define HTTP_LIBRARY_DEBIAN_13 "1.0.1"
/** For people. */
#define HTTP_LIBRARY_KNOWN HTTP_LIBRARY_DEBIAN_12 " and " HTTP_LIBRARY_DEBIAN_13

/** Of the one that is here: "1.0.1". In http_mhd.c, as all that asks the library. */
const char *http_library_version(void);

/** Is it one of them? Any other one may behave otherwise. */
bool http_library_is_known(const char *version);

#endif

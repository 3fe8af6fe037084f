/* The versions of the HTTP library, libmicrohttpd, that all tests passed with. */
#ifndef CAIRN_SERVER_HTTP_LIBRARY_H
#define CAIRN_SERVER_HTTP_LIBRARY_H

#include <stdbool.h>

#define HTTP_LIBRARY_DEBIAN_12 "0.9.75"
#define HTTP_LIBRARY_DEBIAN_13 "1.0.1"
/** The tested versions, for messages. */
#define HTTP_LIBRARY_TESTED HTTP_LIBRARY_DEBIAN_12 " and " HTTP_LIBRARY_DEBIAN_13

/** Returns the version of the library in use, such as "1.0.1". Defined in http_mhd.c, which calls the library. */
const char *http_library_version(void);

/** Is this one of the tested versions? Others may behave differently. */
bool http_library_is_tested(const char *version);

#endif

/* The versions of the HTTP library, libmicrohttpd, that all tests passed with. */
#ifndef CAIRN_SERVER_HTTP_LIBRARY_H
#define CAIRN_SERVER_HTTP_LIBRARY_H

#include <stdbool.h>

#define HTTP_LIBRARY_DEBIAN_12 "0.9.75"
#define HTTP_LIBRARY_DEBIAN_13 "1.0.1"
/** The list for messages. */
#define HTTP_LIBRARY_KNOWN HTTP_LIBRARY_DEBIAN_12 " and " HTTP_LIBRARY_DEBIAN_13

/** Returns the version in use: "1.0.1". Defined in http_mhd.c, which calls the library. */
const char *http_library_version(void);

/** Is a version one of the tested ones? Others may behave differently. */
bool http_library_is_known(const char *version);

#endif

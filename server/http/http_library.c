/* What differs from version to version, or is wrong in one, and what http_mhd.c does about it. It does the same with
 * each, so there is nothing to choose at build time or at run time: what is right with the one must be right with the
 * other.
 *
 * In both:
 * - a thread that gets 128 events at once sleeps on them: no thread has more than 112 connections (http_accept.h);
 * - a body in more than 1,024 pieces stalls now and then: several ranges are read in blocks (http_reply_reader());
 * - a reply in the first call closes the connection: ordinary replies wait for the call that ends the body;
 * - no reply is taken while a body arrives: refusals in mid-body are sent past the library (http_says_midway());
 * - the idle timeout is the only one: http_conn.h has the others;
 * - an end of the stream that comes together with the last bytes is overlooked: the sweeper looks for it;
 * - over a socket of the file system TCP's options are set after each reply, and it complains that it could not, and
 *   that the client may have to wait, which it does not: nothing is made of such lines but for the debug log.
 *
 * 0.9.75 (Debian 12):
 * - lets through heads that two parsers could read in two ways: http_head.c refuses them.
 *
 * 1.0.1 (Debian 13, Ubuntu 24.04):
 * - what MHD_get_connection_info() points to holds the latest answer about a connection, whatever was asked: a value is
 *   copied before anything else is asked;
 * - a connection whose request's chunk sizes don't fit its memory is closed without a word that the request has ended:
 *   the end of the connection ends it, too (http_on_close());
 * - the extension of a chunk's size is read wrongly, and the body refused (400) at the end of that chunk: no known
 *   client sends one, and what has been read counts for nothing until a body is complete;
 * - leaves the two letters behind a "%" that begins no escape as they are, also where they begin one: arguments are
 *   unescaped by http_mhd.c;
 * - refuses by itself, in a text of its own, some of what http_head.c refuses: that is as good. */
#include "server/http/http_library.h"

#include <string.h>

bool http_library_is_known(const char *version)
{
	return strcmp(version, HTTP_LIBRARY_DEBIAN_12) == 0 || strcmp(version, HTTP_LIBRARY_DEBIAN_13) == 0;
}

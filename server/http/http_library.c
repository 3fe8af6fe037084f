/* The differences and bugs of the library's versions, and the workarounds. All workarounds apply to all versions, so
 * there is nothing to choose at build time or run time: each must be right with every version.
 *
 * In both:
 * - a thread that gets 128 events at once sleeps without handling them: no thread has more than 112 connections
 *   (http_accept.h);
 * - a body in more than 1,024 pieces stalls now and then: several ranges are read in blocks (http_reply_reader());
 * - a reply in the first call closes the connection: ordinary replies wait for the call that ends the body;
 * - no reply is taken while a body arrives: refusals in mid-body are sent past the library (http_says_midway());
 * - the idle timeout is the only one: http_conn.h has the others;
 * - an end of the stream that comes together with the last bytes is missed: the sweeper looks for it;
 * - over a socket of the file system it tries to set TCP options after each reply, and complains of failures that
 *   delay nobody: its complaints go to the debug log only.
 *
 * 0.9.75 (Debian 12):
 * - lets through heads that two parsers could read in two ways: http_head.c refuses them;
 * - ends lines of heads at a bare LF, and texts of heads at a zero byte: http_lines.c finds both. Its check relies on
 *   where this version keeps its texts, so it runs with this version alone; 1.0.1 refuses such heads by itself.
 *
 * 1.0.1 (Debian 13, Ubuntu 24.04):
 * - MHD_get_connection_info() returns a pointer to one buffer per connection: a value is copied before the next call;
 * - a connection whose request's chunk sizes don't fit its memory is closed without a notice that the request has
 *   ended: the end of the connection ends the request (http_on_close());
 * - the extension of a chunk's size is parsed wrongly, and the body refused (400) at the end of that chunk: no known
 *   client sends one, and an incomplete body has no effect;
 * - after a "%" that begins no escape, it skips two letters, even if these begin an escape: http_mhd.c unescapes
 *   arguments;
 * - refuses by itself, in its own words, some heads that http_head.c refuses: that is fine. */
#include "server/http/http_library.h"

#include <string.h>

bool http_library_is_tested(const char *version)
{
	return strcmp(version, HTTP_LIBRARY_DEBIAN_12) == 0 || strcmp(version, HTTP_LIBRARY_DEBIAN_13) == 0;
}

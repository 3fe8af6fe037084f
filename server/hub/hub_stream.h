/* The bytes of a file that is being fetched from the mirrored hub, as the source of a reply. */
#ifndef CAIRN_SERVER_HUB_STREAM_H
#define CAIRN_SERVER_HUB_STREAM_H

#include "server/ask/hub_repo.h"

/** A reply's reader of a file that is being fetched. */
struct hub_stream;

/** Opens the file that hub_mirror_want_file() noted and that is being fetched. Does not wait. @param r  the request,
 * with asker and repository @param[out] out  owned by the caller: hub_stream_source() or hub_stream_free() @return as
 * cairn_mirror_reader_open() */
CAIRN_MUST_USE enum cairn_status hub_stream_open(struct hub_stream **out, struct hub_repo *r,
						 const struct cairn_byte_range *range,
						 struct cairn_file_extent *extent);

/** Makes the source of a reply, which takes over the stream. @param bytes  length of the range */
struct http_source hub_stream_source(struct hub_stream *stream, uint64_t bytes);

/** Closes a stream. NULL is harmless. */
void hub_stream_free(struct hub_stream *stream);

#endif

/* The bounded buffer between the feeder of a reply's frames and the connection that sends them. Independent of the HTTP
 * library. http_stream_frame() and http_stream_finish() are declared in http.h. */
#ifndef CAIRN_SERVER_HTTP_STREAM_H
#define CAIRN_SERVER_HTTP_STREAM_H

#include "server/http/http.h"

enum { HTTP_STREAM_BYTES_MAX = 65536 }; /* limit of bytes that wait to be sent */

/** How the reading side waits for frames. Called with the stream's lock held. */
struct http_stream_ops {
	bool (*pause)(void *ctx); /* called by the reading thread; false: the server is closing, so do not wait */
	void (*wake)(void *ctx);  /* called by any thread, once after each pause() that returned true */
};

/** Makes a stream with two references. The feeder's reference ends with http_stream_finish(), the connection's with
 * http_stream_gone(). @param ctx  valid until http_stream_gone(). @return NULL without memory */
struct http_stream *http_stream_new(const struct http_stream_ops *ops, void *ctx);

enum http_stream_read { HTTP_STREAM_BYTES, HTTP_STREAM_PAUSED, HTTP_STREAM_END, HTTP_STREAM_FAILED };

/** Takes up to `max` bytes. PAUSED: pause() was called; read again after wake(). */
enum http_stream_read http_stream_read(struct http_stream *s, uint8_t *out, size_t max, size_t *n_read);

/** Ends the connection's use of the stream: all of it was sent, or the client has gone. */
void http_stream_gone(struct http_stream *s);

#endif

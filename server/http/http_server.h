/* Parts of the HTTP service that are independent of the HTTP library: clock, deadlines, ticker, the server's record. */
#ifndef CAIRN_SERVER_HTTP_SERVER_H
#define CAIRN_SERVER_HTTP_SERVER_H

#include "server/http/http_request.h"

/** Returns CLOCK_MONOTONIC, as cairn_clock_mono_ms() does. */
int64_t http_now_us(void);
/** Returns the same clock at the kernel's last tick. Cheaper, and at most milliseconds late: enough for deadlines. */
int64_t http_now_ms(void);

/** Are these options valid for a server? */
bool http_options_are_valid(const struct http_server_options *options);

/** Makes a server without library and ticker. @return NULL without memory */
struct http_server *http_server_new(const struct http_server_options *options);
void http_server_free(struct http_server *server);

/** Implements http_hand_over; defined in http_mhd.c. */
bool http_server_hand_over(struct http_thread *thread, int fd, const struct sockaddr *address, socklen_t len);

/** Starts the thread that sweeps connections and calls options.tick each second, until http_server_stop_ticker().
 * @return false: no thread */
bool http_server_start_ticker(struct http_server *server);
void http_server_stop_ticker(struct http_server *server);

/** Record that a request begins, and that it ends. Call on its thread. While the server drains, each end wakes
 * http_server_wait(). */
void http_thread_begin_request(struct http_thread *thread);
void http_thread_end_request(struct http_thread *thread);

/** Returns a number for a request. Call on its thread. A number repeats only after 2^32 others. */
uint32_t http_thread_number(struct http_thread *thread);

/** Waits until no request is under way, at most timeout_ms. The server must be draining. */
void http_server_wait(struct http_server *server, unsigned timeout_ms);

/** Return deadlines from now_ms on: for a first head; for a head after its request line; for a head after idling. */
int64_t http_first_head_deadline_ms(const struct http_server *server, int64_t now_ms);
int64_t http_head_deadline_ms(const struct http_request *req, int64_t now_ms);
int64_t http_idle_deadline_ms(const struct http_server *server, int64_t now_ms);
/** Returns the deadline of the body, given the bytes received so far. */
int64_t http_body_deadline_ms(const struct http_request *req);
/** Returns the deadline for the client to read the reply; 0: none, for streams. */
int64_t http_reply_deadline_ms(const struct http_request *req, int64_t now_ms);

/** Reports the end of a request to options.ended. @param now_us  from http_now_us() */
void http_report_end(const struct http_request *req, int64_t now_us);

#endif

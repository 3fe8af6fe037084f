/* The life cycle of the daemon: opens, serves, stops and closes its parts in the right order. */
#ifndef CAIRN_SERVER_DAEMON_H
#define CAIRN_SERVER_DAEMON_H

#include "server/app.h"

/** Opens the parts that app->config asks for: data folder, keys, workers, metrics. All other members except sandbox
 * must be zero. @return CAIRN_OK; else diag has one clear line, and nothing is left open */
CAIRN_MUST_USE enum cairn_status daemon_open(struct app *app, struct cairn_diag *diag);

/** Serves on a listening socket, which is taken over. @return as http_server_start(); also CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status daemon_serve(struct app *app, int listen_fd, struct cairn_diag *diag);

/** Stops serving. Accepts no new connections, lets requests under way end within config.drain_s, and waits until
 * workers and index have finished their work. @return false: the disk did not answer in time, or requests still wait
 * for unfinished work; the process can only exit */
bool daemon_stop(struct app *app);

/** Returns the setting store as a URL, even if the setting is a word. */
const char *daemon_store_url(const struct config *config);

/** Applies the settings that may change while the daemon runs. */
void daemon_set_live(struct app *app, const struct config *config);

/** Closes what daemon_open() opened. If it served, call daemon_stop() before. The configuration stays the caller's. */
void daemon_close(struct app *app);

#endif

/* Logs the mirror's events. */
#ifndef CAIRN_SERVER_MIRROR_LOG_H
#define CAIRN_SERVER_MIRROR_LOG_H

#include "mirror/mirror.h"

/** Logs an event. For tell() of struct cairn_mirror_options. */
void mirror_log_event(const struct cairn_mirror_event *event);

#endif

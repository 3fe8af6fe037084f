#include "server/ready.h"

#include "base/clock.h"
#include "cas/stats.h"
#include "server/app.h"

enum { READY_KEPT_MS = 1000, READY_TOLD_MS = 5 * 60 * 1000 };

/* Returns the known result. If many ask at once, only one checks. @param check  unknown: the caller has to check */
static bool ready_read(struct app_ready *last, bool check, enum cairn_status *status, struct cairn_diag *diag)
{
	pthread_mutex_lock(&last->lock);
	bool fresh = last->checked_ms != 0 && cairn_clock_mono_ms() - last->checked_ms < READY_KEPT_MS;
	bool known = fresh || last->checking;
	if (known) {
		*status = last->status;
		*diag = last->diag;
	}
	last->checking = last->checking || (check && !known);
	pthread_mutex_unlock(&last->lock);
	return known;
}

bool ready_cached(struct app *app, enum cairn_status *status, struct cairn_diag *diag)
{
	return ready_read(&app->ready, false, status, diag);
}

bool ready_last_answer(struct app *app)
{
	struct app_ready *last = &app->ready;
	pthread_mutex_lock(&last->lock);
	bool recent = last->checked_ms != 0 && cairn_clock_mono_ms() - last->checked_ms < READY_TOLD_MS;
	bool refused = recent && last->status != CAIRN_OK;
	pthread_mutex_unlock(&last->lock);
	struct cairn_cas_health health;
	cairn_cas_health(app->cas, &health);
	return !refused && !health.writes.rule && !atomic_load(&app->stopping);
}

enum cairn_status ready_check(struct app *app, struct cairn_diag *diag)
{
	struct app_ready *last = &app->ready;
	enum cairn_status status;
	if (ready_read(last, true, &status, diag))
		return status;
	status = cairn_cas_ready(app->cas, diag);
	pthread_mutex_lock(&last->lock);
	last->status = status;
	last->diag = *diag;
	last->checked_ms = cairn_clock_mono_ms();
	last->checking = false;
	pthread_mutex_unlock(&last->lock);
	return status;
}

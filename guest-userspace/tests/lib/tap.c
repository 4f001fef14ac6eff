// SPDX-License-Identifier: MIT
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"

static struct {
	unsigned int run;
	unsigned int failed;
} *count;

static void watchdog_fired(int sig)
{
	static const char msg[] = "\nBail out! the watchdog fired: the program does not end\n";
	ssize_t n = write(STDOUT_FILENO, msg, sizeof(msg) - 1);

	(void)sig;
	(void)n;
	_exit(1);
}

/* A real-time signal: tests keep SIGALRM, and timers are not inherited by fork. */
static void watchdog_arm(unsigned int seconds)
{
	struct sigaction sa = { .sa_handler = watchdog_fired };
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMAX };
	struct itimerspec when = { .it_value = { .tv_sec = seconds } };
	timer_t timer;

	if (sigaction(SIGRTMAX, &sa, NULL) || timer_create(CLOCK_MONOTONIC, &ev, &timer) ||
	    timer_settime(timer, 0, &when, NULL))
		tap_bail("cannot arm the watchdog");
}

static unsigned int watchdog_seconds;

void tap_begin(unsigned int seconds)
{
	const char *scale;

	count = mmap(NULL, sizeof(*count), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (count == MAP_FAILED) {
		puts("Bail out! no memory");
		exit(1);
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("TAP version 13");
	scale = getenv("VKFD_TIME_SCALE");
	watchdog_seconds = seconds * (scale && atoi(scale) > 0 ? (unsigned int)atoi(scale) : 1);
	watchdog_arm(watchdog_seconds);
}

static void report(bool pass, const char *directive, const char *fmt, va_list ap)
{
	count->run++;
	if (!pass)
		count->failed++;
	printf("%s %u - ", pass ? "ok" : "not ok", count->run);
	vprintf(fmt, ap);
	if (directive)
		printf(" # SKIP %s", directive);
	putchar('\n');
	fflush(stdout);
}

bool tap_ok(bool pass, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	report(pass, NULL, fmt, ap);
	va_end(ap);
	return pass;
}

bool tap_is(int64_t got, int64_t want, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	report(got == want, NULL, fmt, ap);
	va_end(ap);
	if (got != want)
		tap_diag("got %lld (0x%llx), want %lld (0x%llx)", (long long)got,
			 (unsigned long long)got, (long long)want, (unsigned long long)want);
	return got == want;
}

void tap_skip(const char *reason, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	report(true, reason, fmt, ap);
	va_end(ap);
}

void tap_diag(const char *fmt, ...)
{
	va_list ap;

	printf("# ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

void tap_bail(const char *fmt, ...)
{
	va_list ap;

	printf("Bail out! ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
	_exit(1);
}

void tap_skip_all(const char *reason)
{
	printf("1..0 # SKIP %s\n", reason);
	fflush(stdout);
	exit(0);
}

int tap_done(void)
{
	printf("1..%u\n", count->run);
	if (count->failed)
		tap_diag("%u of %u failed", count->failed, count->run);
	fflush(stdout);
	return count->failed ? 1 : 0;
}

bool tap_child(const char *name, void (*fn)(void *), void *arg)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		tap_bail("fork: %m");
	if (pid == 0) {
		watchdog_arm(watchdog_seconds);
		fn(arg);
		fflush(stdout);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid)
		tap_bail("waitpid: %m");
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	if (WIFSIGNALED(status))
		return tap_ok(false, "%s: child died of signal %d", name, WTERMSIG(status));
	return tap_ok(false, "%s: child exited with %d", name, WEXITSTATUS(status));
}

bool tap_full(void)
{
	const char *full = getenv("VKFD_FULL");

	return full && *full && strcmp(full, "0");
}

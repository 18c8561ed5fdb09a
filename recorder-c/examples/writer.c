/* An engine's frame loop in C: writer RING FRAMES. Each frame has a cause, a root span with two children, a counter
 * and a mark; every tenth is given up. Between frames it writes a span of no frame, and every thirtieth an anchor.
 *
 *   cc writer.c -I ../include -L ../../target/release -lwireproof_recorder_c -o writer
 */
#define _POSIX_C_SOURCE 200809L
#include "wireproof_recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROOT = 1, RENDER = 2, SEND = 3, QUEUE = 4, HOUSEKEEPING = 5, POLE = 0, SACN = 2 };

static uint64_t now_ns(clockid_t clock) {
  struct timespec at;
  clock_gettime(clock, &at);
  return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

static void must(int32_t code, const char *what) {
  if (code != WPR_OK) {
    fprintf(stderr, "%s: %s\n", what, wpr_last_error());
    exit(1);
  }
}

static void frame(wpr_handle ring, uint32_t id) {
  uint16_t root = WPR_NO_PARENT;
  uint64_t start = now_ns(CLOCK_MONOTONIC);
  must(wpr_begin(ring, id), "wpr_begin");
  must(wpr_cause(ring, WPR_CAUSE_TIMER, 1, start), "wpr_cause");
  uint64_t rendered = now_ns(CLOCK_MONOTONIC);
  /* A parent comes before its children; its end is known last, so an engine writes the children's times first. */
  uint64_t sent = now_ns(CLOCK_MONOTONIC);
  must(wpr_span(ring, ROOT, WPR_NO_DEVICE, 0, WPR_NO_PARENT, start, sent, 0, &root), "wpr_span");
  must(wpr_span(ring, RENDER, POLE, SACN, root, start, rendered, 0, NULL), "wpr_span");

  wpr_event send = WPR_EVENT_INIT;
  send.stage = SEND;
  send.device = POLE;
  send.protocol = SACN;
  send.parent = root;
  send.start_ns = rendered;
  send.end_ns = sent;
  send.aux = 4; /* datagrams */
  must(wpr_record(ring, &send, NULL), "wpr_record");

  must(wpr_counter(ring, QUEUE, POLE, sent, id % 7), "wpr_counter");
  must(wpr_mark(ring, ROOT, sent, id), "wpr_mark");
  if (id % 10 == 0) {
    must(wpr_abandon(ring), "wpr_abandon");
  } else {
    must(wpr_complete(ring, start, now_ns(CLOCK_MONOTONIC)), "wpr_complete");
  }
}

static void between(wpr_handle ring, uint32_t id) {
  wpr_event housekeeping = WPR_EVENT_INIT;
  housekeeping.stage = HOUSEKEEPING;
  housekeeping.start_ns = housekeeping.end_ns = now_ns(CLOCK_MONOTONIC);
  must(wpr_record_unframed(ring, &housekeeping), "wpr_record_unframed");
  if (id % 30 == 0) {
    must(wpr_anchor(ring, now_ns(CLOCK_MONOTONIC), now_ns(CLOCK_REALTIME)), "wpr_anchor");
    must(wpr_heartbeat(ring, now_ns(CLOCK_MONOTONIC)), "wpr_heartbeat");
  }
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: writer RING FRAMES\n");
    return 2;
  }
  if (wpr_abi_version() != WPR_ABI_VERSION) {
    fprintf(stderr, "library %s does not fit this header\n", wpr_version());
    return 1;
  }
  wpr_handle ring = 0;
  must(wpr_new(&ring), "wpr_new");
  must(wpr_add_stage(ring, ROOT, 0, "frame"), "wpr_add_stage");
  must(wpr_add_stage(ring, RENDER, 0, "render"), "wpr_add_stage");
  must(wpr_add_stage(ring, SEND, 0, "wire_send"), "wpr_add_stage");
  must(wpr_add_stage(ring, QUEUE, 2, "queue"), "wpr_add_stage");
  must(wpr_add_stage(ring, HOUSEKEEPING, 0, "housekeeping"), "wpr_add_stage");
  must(wpr_add_protocol(ring, SACN, "sacn"), "wpr_add_protocol");
  must(wpr_add_device(ring, POLE, SACN, 2040, "pole-a"), "wpr_add_device");
  must(wpr_set_period(ring, 16666667), "wpr_set_period");
  must(wpr_set_anchor(ring, now_ns(CLOCK_MONOTONIC), now_ns(CLOCK_REALTIME), 0, 0), "wpr_set_anchor");
  uint64_t wall_s = now_ns(CLOCK_REALTIME) / 1000000000u;
  must(wpr_open(ring, argv[1], 4096, wall_s, WPR_ANY_FILE_SYSTEM), "wpr_open");
  must(wpr_set_enabled(ring, 1), "wpr_set_enabled");
  uint32_t frames = (uint32_t)strtoul(argv[2], NULL, 10);
  for (uint32_t id = 1; id <= frames; id++) {
    frame(ring, id);
    between(ring, id);
  }
  must(wpr_count(ring, WPR_COUNTER_SLOW_FRAMES, 3), "wpr_count");
  must(wpr_close(ring), "wpr_close");
  if (wpr_close(ring) != WPR_E_HANDLE) {
    fprintf(stderr, "a closed handle was taken\n");
    return 1;
  }
  return 0;
}

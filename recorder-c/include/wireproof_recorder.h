/* The writer of wireproof's flight-recorder ring (layout 2), for engines that are not written in Rust.
 *
 * Order of calls: wpr_new, wpr_add_... and wpr_set_..., wpr_open; then for each frame wpr_begin, its events,
 * wpr_complete; at the end wpr_close. A frame is private until wpr_complete makes all of it visible at once.
 *
 * Threads: one writer. A handle may go from thread to thread, but one thread at a time is in a call with it. A second
 * one gets WPR_E_BUSY and nothing happens; no call ever waits for another. After fork() one process goes on writing.
 *
 * Time: the library reads no clock. Every *_ns is CLOCK_MONOTONIC in nanoseconds, unless it says wall.
 *
 * Errors: every function that returns int32_t returns WPR_OK (0) or a WPR_E_ code, and then it did nothing else.
 * wpr_last_error says in one line what is wrong and what to do. A handle is a number: 0, a wrong number and a closed
 * handle give WPR_E_HANDLE. A NULL pointer gives WPR_E_ARGUMENT, or is allowed where that is said; any other pointer
 * is followed. After wpr_open nothing allocates, blocks or does a system call, but wpr_close and, after an error,
 * wpr_last_error. */
#ifndef WIREPROOF_RECORDER_H
#define WIREPROOF_RECORDER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Compare with wpr_abi_version() when the library is loaded at run time. */
#define WPR_ABI_VERSION 1

/* Codes. They keep their meaning; codes may be added. */
#define WPR_OK 0
#define WPR_E_ARGUMENT 1   /* an argument is not what is asked for here */
#define WPR_E_HANDLE 2     /* not a handle, or one that is closed */
#define WPR_E_STATE 3      /* not at this point: before or after wpr_open, inside or outside of a frame */
#define WPR_E_BUSY 4       /* another thread is in a call with this handle */
#define WPR_E_LIMIT 5      /* a table is full, or WPR_HANDLES handles are open */
#define WPR_E_DROPPED 6    /* the event was dropped and counted: the frame is full, or recording is off */
#define WPR_E_HELD 7       /* another writer holds the ring */
#define WPR_E_DISK 8       /* the folder is not on a file system in memory */
#define WPR_E_NOT_A_RING 9 /* the name is taken by something that is no ring */
#define WPR_E_IO 10        /* the system refuses */
#define WPR_E_INTERNAL 11  /* a mistake in the library; the handle can only be closed */

/* Limits. Longer names are cut between characters. */
#define WPR_HANDLES 64
#define WPR_STAGES 64
#define WPR_DEVICES 16
#define WPR_PROTOCOLS 8
#define WPR_STAGE_NAME 28
#define WPR_DEVICE_NAME 40
#define WPR_PROTOCOL_NAME 14
#define WPR_DEFAULT_CAPACITY 131072

/* Flags of wpr_open. */
#define WPR_ANY_FILE_SYSTEM 1 /* also on a disk, where writeback holds the writer up */
#define WPR_LOCK_MEMORY 2     /* pin the pages; without the right to, it goes on without */

/* No device, no parent, no frame. */
#define WPR_NO_DEVICE 0xFFFF
#define WPR_NO_PARENT 0xFFFF
#define WPR_NO_FRAME 0xFFFFFFFF

/* Kinds of an event, and what aux holds. WPR_KIND_FRAME_COMPLETE is written by wpr_complete alone. */
#define WPR_KIND_SPAN 1           /* a count: datagrams, octets */
#define WPR_KIND_FRAME_COMPLETE 2
#define WPR_KIND_CAUSE 3          /* id of the source; flags is a WPR_CAUSE_ */
#define WPR_KIND_DEADLINE_MISS 4  /* overrun, ns; start is the deadline, end the actual end */
#define WPR_KIND_DROPS 5          /* count of drops */
#define WPR_KIND_ANCHOR 6         /* wall time, ns; start = end = monotonic */
#define WPR_KIND_COUNTER 7        /* the value */
#define WPR_KIND_MARK 8           /* any value */
#define WPR_KIND_SKIPPED 9        /* first id << 32 | count of frames left out on purpose */
#define WPR_KIND_STATE 10         /* the state */

/* Classes of a cause. */
#define WPR_CAUSE_TIMER 1
#define WPR_CAUSE_EVENT 2
#define WPR_CAUSE_REFRESH 3
#define WPR_CAUSE_OTHER 4

/* Counters of the header, for wpr_count. The first three are kept by the library. */
#define WPR_COUNTER_EVENTS_DROPPED 0
#define WPR_COUNTER_FRAMES_ABANDONED 1
#define WPR_COUNTER_EVENTS_DISABLED 2
#define WPR_COUNTER_DEADLINE_MISSES 3
#define WPR_COUNTER_SLOW_FRAMES 4
#define WPR_COUNTER_SLOW_LOGS_SUPPRESSED 5
#define WPR_COUNTER_CLOCK_STEPS 6

/* A writer; 0 is none. */
typedef uint64_t wpr_handle;

/* An event, 40 octets. Begin with WPR_EVENT_INIT. */
typedef struct wpr_event {
  uint64_t start_ns;
  uint64_t end_ns; /* the start for instants */
  uint64_t aux;    /* by kind */
  uint16_t stage;  /* key of the stage table */
  uint16_t device; /* key of the device table, or WPR_NO_DEVICE */
  uint16_t parent; /* place of the span around it in the frame, or WPR_NO_PARENT */
  uint16_t flags;  /* by kind */
  uint8_t protocol; /* key of the protocol table, 0 for none */
  uint8_t kind;     /* WPR_KIND_ */
  uint8_t reserved[6]; /* zero */
} wpr_event;

#define WPR_EVENT_INIT {0, 0, 0, 0, WPR_NO_DEVICE, WPR_NO_PARENT, 0, 0, WPR_KIND_SPAN, {0, 0, 0, 0, 0, 0}}

/* The library's WPR_ABI_VERSION, and its version as text. */
uint32_t wpr_abi_version(void);
const char *wpr_version(void);

/* The last error of this thread in one line; "" without one. Never NULL; lasts until the thread asks again. */
const char *wpr_last_error(void);

/* A handle without a ring. Give it back with wpr_close, whatever comes between. */
int32_t wpr_new(wpr_handle *handle);

/* Names, period and anchor for the header, before wpr_open. Names are UTF-8 and not empty; each id once.
 * category: 0 stage, 1 place of a cause, 2 counter. The anchor is one moment on both clocks, the spread of that
 * reading, and CLOCK_BOOTTIME - CLOCK_MONOTONIC. */
int32_t wpr_add_stage(wpr_handle handle, uint16_t id, uint8_t category, const char *name);
int32_t wpr_add_device(wpr_handle handle, uint16_t id, uint8_t protocol, uint32_t pixels, const char *name);
int32_t wpr_add_protocol(wpr_handle handle, uint8_t id, const char *name);
int32_t wpr_set_period(wpr_handle handle, uint64_t period_ns);
int32_t wpr_set_anchor(wpr_handle handle, uint64_t monotonic_ns, uint64_t wall_ns, uint64_t spread_ns,
                       uint64_t boottime_offset_ns);

/* Creates the ring file at path, which should lie below /run or /dev/shm; a former ring stays as <path>.prev.
 * capacity: records, a power of two, 0 for WPR_DEFAULT_CAPACITY; a frame takes at most half of it. wall_s: the time
 * of day in seconds, which numbers the generation. flags: WPR_ANY_FILE_SYSTEM, WPR_LOCK_MEMORY. */
int32_t wpr_open(wpr_handle handle, const char *path, uint64_t capacity, uint64_t wall_s, uint32_t flags);

/* Opens a frame; ids count up. */
int32_t wpr_begin(wpr_handle handle, uint32_t frame_id);

/* Events of the frame. place, which may be NULL, gets the event's place in the frame, for children to name as their
 * parent; WPR_NO_PARENT when it was not recorded. */
int32_t wpr_span(wpr_handle handle, uint16_t stage, uint16_t device, uint8_t protocol, uint16_t parent,
                 uint64_t start_ns, uint64_t end_ns, uint64_t count, uint16_t *place);
int32_t wpr_cause(wpr_handle handle, uint16_t cause_class, uint64_t source, uint64_t at_ns);
int32_t wpr_counter(wpr_handle handle, uint16_t stage, uint16_t device, uint64_t at_ns, uint64_t value);
int32_t wpr_mark(wpr_handle handle, uint16_t stage, uint64_t at_ns, uint64_t value);
int32_t wpr_record(wpr_handle handle, const wpr_event *event, uint16_t *place);

/* Ends the frame: with its last record everything becomes visible at once; or gives it up, which is counted. */
int32_t wpr_complete(wpr_handle handle, uint64_t start_ns, uint64_t end_ns);
int32_t wpr_abandon(wpr_handle handle);

/* Events of no frame, published at once; while a frame is under way, with that frame. */
int32_t wpr_record_unframed(wpr_handle handle, const wpr_event *event);
int32_t wpr_anchor(wpr_handle handle, uint64_t monotonic_ns, uint64_t wall_ns);

/* Switches recording off (0) or on. Off, events are counted and give WPR_E_DROPPED; frames can be begun and ended.
 * A frame under way keeps the setting it began with. */
int32_t wpr_set_enabled(wpr_handle handle, int32_t enabled);

/* Adds to a WPR_COUNTER_; says that the writer lives. */
int32_t wpr_count(wpr_handle handle, uint32_t counter, uint64_t more);
int32_t wpr_heartbeat(wpr_handle handle, uint64_t monotonic_ns);

/* Gives up a frame under way, marks the ring as closed, and gives the handle back. */
int32_t wpr_close(wpr_handle handle);

#ifdef __cplusplus
}
#endif

#endif

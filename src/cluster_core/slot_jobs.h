/* slot_jobs.h -- migrations of slots with their keys: decides what each of them does next.
 *
 *     event -> slotJobsStep(jobs, machine, now, event, actions) -> actions
 *
 * A job is an export at the source, an import at the target, and a copy of the import at each replica of the target.
 * As the machine of nodes, this one has no clock, connection, key or file: the caller moves the keys, and executes the
 * actions in their order. It reads nodes and owners from the machine of nodes. docs/design/slot_migration.md has the
 * conversation.
 *
 * Threads     one at a time; the caller holds the lock of the machine of nodes for each step.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLUSTER_SLOT_JOBS_H
#define CLUSTER_SLOT_JOBS_H

#include "machine.h"

typedef struct slotJobs slotJobs;

typedef enum slotJobState {
    /* At the source. */
    JOB_CONNECTING,
    JOB_READING_AUTH,
    JOB_READING_ESTABLISH,
    JOB_WAITING_TO_WALK,
    JOB_WALKING,
    JOB_REPLICATING, /* all keys are sent; writes are passed on */
    JOB_WAITING_TO_PAUSE,
    JOB_FENCED,    /* writes to the slots wait */
    JOB_RECORDING, /* the grant must be on disk before it is given */
    JOB_GRANTED,   /* the target may take the slots: only knowledge ends this state */
    /* At the target. */
    JOB_WAITING_FOR_ACK,
    JOB_RECEIVING,
    JOB_WAITING_FOR_PAUSED,
    JOB_REQUESTED, /* the grant is awaited; or it is there, and grants of this node stand in the way */
    JOB_TAKING,    /* the machine of nodes has been asked to take the slots */
    JOB_CLEANING_UP,
    /* At a replica of the target. */
    JOB_TRACKED,
    /* Ended. */
    JOB_SUCCESS,
    JOB_CANCELLED,
    JOB_FAILED,
} slotJobState;

static inline bool slotJobHasEnded(slotJobState s) { return s >= JOB_SUCCESS; }
/* Returns the word for a state in GETSLOTMIGRATIONS and in the log. */
const char *slotJobStateName(slotJobState s);

typedef struct slotJob {
    uint64_t number; /* of this job at this node, from 1 on; never used again */
    nodeId name;
    nodeId source, target; /* a tracked one: none */
    bool is_export;
    slotJobState state;
    slotSet *slots;                        /* owns; NULL when it has ended */
    sds ranges;                            /* owns: "0-5 7-7" */
    sds message;                           /* owns: why it has failed; empty: nothing to say */
    int64_t created_s, changed_s, heard_s; /* since 1970; heard_s: last ACK, 0: none */
    slotJobState end;                      /* while CLEANING_UP: the state that follows */
    bool is_connected, is_fenced;          /* an export; both sides: there is a connection */
    uint64_t heard_ms, told_ms, fenced_ms; /* monotonic: last word or byte, last ACK sent, FENCE; 0: never */
    uint64_t asked_ms;                     /* last ASK, or PING */
    struct slotJob *next;                  /* older */
    uint64_t paused_ms, granted_ms;        /* an import: when the source said so */
} slotJob;

/* ---- Events ---- */

/* Words of CLUSTER SYNCSLOTS on the connection of a job. */
typedef enum slotJobWord {
    JOB_WORD_ACK,
    JOB_WORD_SNAPSHOT_EOF,
    JOB_WORD_REQUEST_PAUSE,
    JOB_WORD_PAUSED,
    JOB_WORD_REQUEST_FAILOVER,
    JOB_WORD_FAILOVER_GRANTED,
    JOB_WORD_UNKNOWN,
} slotJobWord;
/* Returns the word for `text`, any case; JOB_WORD_UNKNOWN if it is none. */
slotJobWord slotJobWordOf(slice text);
const char *slotJobWordName(slotJobWord w);

typedef enum slotJobsEventKind {
    SLOT_JOBS_TICK,      /* each 100 ms */
    SLOT_JOBS_CONFIGURE, /* settings have changed: `config` */
    SLOT_JOBS_VIEW,      /* owners, roles or nodes may have changed, or a node was HEARD */
    SLOT_JOBS_MIGRATE,   /* MIGRATESLOTS: `requests`, `request_count`; a REPLY is among the actions */
    SLOT_JOBS_CANCEL,    /* CANCELSLOTMIGRATIONS, which ends the exports; a REPLY is among the actions */
    SLOT_JOBS_ESTABLISH, /* a client asks to send slots: `request`; a REPLY is among the actions */
    SLOT_JOBS_TRACK,     /* the same from the primary, the log or a snapshot: `request`, `name` */
    SLOT_JOBS_FINISH,    /* FINISH from the primary or the log: `name`, `end`, `text` */
    SLOT_JOBS_CONNECTED, /* the connection that CONNECT asked for: `job` */
    SLOT_JOBS_LOST,      /* the connection of `job` is closed, or could not be made: `text` says why, if known */
    SLOT_JOBS_LINE,      /* a line of reply to AUTH or ESTABLISH: `job`, `text` with its first character */
    SLOT_JOBS_WORD,      /* `job`, `word` */
    SLOT_JOBS_DATA,      /* bytes have come on the connection of `job` */
    SLOT_JOBS_WALKED,    /* the walk of `job` has passed its last key */
    SLOT_JOBS_UNSENT,    /* `bytes` of the connection of `job` are not sent yet */
    SLOT_JOBS_BROKEN,    /* `job` cannot go on: `text` is its message */
    SLOT_JOBS_FLUSHED,   /* the dataset has been deleted: `text` is the message */
    SLOT_JOBS_REPLACED,  /* another dataset has been loaded, hidden slots included: `text` is the message */
    SLOT_JOBS_RECORDED,  /* the grant of `job` is on disk */
    SLOT_JOBS_RECALL,    /* at the start: a grant that was on disk: `request` with name and target */
    SLOT_JOBS_DELETED,   /* the keys of `job` are deleted */
    SLOT_JOBS_ANSWER,    /* the reply to ASK: `job`, `answer` */
} slotJobsEventKind;

typedef enum slotJobAnswer {
    JOB_ANSWER_NONE,    /* no answer */
    JOB_ANSWER_RUNS,    /* the target has the job, and it goes on, or has succeeded */
    JOB_ANSWER_FAILED,  /* the target has the job, and it has failed or was cancelled */
    JOB_ANSWER_UNKNOWN, /* the target does not know the job, and owns none of its slots in its own view */
} slotJobAnswer;

typedef struct slotJobRequest {
    nodeId source, target; /* the one that is asked for */
    nodeId name;           /* of ESTABLISH and TRACK */
    const slotSet *slots;  /* borrowed during the step */
} slotJobRequest;

typedef struct slotJobsConfig {
    uint64_t silence_ms;            /* repl-timeout */
    uint64_t fence_ms;              /* a fence without takeover: twice cluster-manual-failover-timeout */
    int64_t pause_bytes;            /* slot-migration-max-failover-repl-bytes; -1: any */
    size_t log_length;              /* cluster-slot-migration-log-max-len */
    bool has_password;              /* primaryauth is set */
    bool holds_pause, holds_taking; /* DEBUG SLOTMIGRATION */
} slotJobsConfig;

typedef struct slotJobsEvent {
    slotJobsEventKind kind;
    uint64_t job;
    const slotJobsConfig *config;
    const slotJobRequest *requests; /* the requests, or the one */
    size_t request_count;
    nodeId name;
    slotJobState end;
    slotJobWord word;
    slotJobAnswer answer;
    uint64_t bytes;
    slice text; /* borrowed */
} slotJobsEvent;

/* ---- Actions ---- */

typedef enum slotJobActionKind {
    SLOT_JOB_REPLY,     /* `text`: "+OK" or "-ERR ..." without CRLF */
    SLOT_JOB_CONNECT,   /* connect to the client port of `node` */
    SLOT_JOB_AUTH,      /* send AUTH with primaryuser and primaryauth */
    SLOT_JOB_ESTABLISH, /* send ESTABLISH with the job's source, name and slots */
    SLOT_JOB_SAY,       /* send `word` */
    SLOT_JOB_CLOSE,     /* close the connection when what was sent before has left; no event follows */
    SLOT_JOB_WALK,      /* begin to send the keys, and pass on writes to keys that were sent */
    SLOT_JOB_STOP,      /* end the walk and pass on nothing more */
    SLOT_JOB_PING,      /* give the machine of nodes CLUSTER_PING_NODE for `node`; VIEW follows when it is HEARD */
    SLOT_JOB_RECORD,    /* write name, `node` and slots of the job to disk, so that a restart does not lift its fence;
                      * RECORDED follows */
    SLOT_JOB_ERASE,     /* remove that from the disk, also when it is not written yet */
    SLOT_JOB_FENCE,     /* let writes to the slots wait */
    SLOT_JOB_UNFENCE,   /* let them go on, or be redirected */
    SLOT_JOB_HIDE,      /* hide the slots from clients, keep them apart from the keyspace */
    SLOT_JOB_SHOW,      /* the slots' keys are ordinary ones from now on */
    SLOT_JOB_TAKE,      /* give the machine of nodes CLUSTER_TAKE_SLOTS */
    SLOT_JOB_DELETE,    /* delete the keys of the hidden slots; DELETED follows. A replica deletes none by itself */
    SLOT_JOB_FINISHED,  /* tell replicas and the log FINISH with `end`, name and message */
    SLOT_JOB_ASK,       /* ask the target for its view of the job on a connection of its own; ANSWER follows */
    SLOT_JOB_LOG,       /* `text`, at `level` */
} slotJobActionKind;

typedef struct slotJobAction {
    slotJobActionKind kind;
    uint64_t job;
    nodeId node;
    slotJobWord word;
    slotJobState end;
    int level;
    slotSet *slots; /* owns; of RECORD to DELETE: the job may have ended since */
    sds text;       /* owns */
} slotJobAction;

/* Actions of one or more steps. Initialize to zero. */
typedef struct slotJobActions {
    slotJobAction *list; /* owns */
    size_t count, capacity;
} slotJobActions;
void slotJobActionsFree(slotJobActions *a);

/* ---- The machine ---- */

slotJobs *slotJobsCreate(uint64_t seed, const slotJobsConfig *config);
void slotJobsFree(slotJobs *j);
/* Takes an event and appends actions. */
void slotJobsStep(slotJobs *j, const clusterMachine *m, clusterTime now, const slotJobsEvent *event,
                  slotJobActions *actions);

/* ---- Reading ---- */

/* Return the jobs one by one, the newest first: the first for NULL, and NULL at the end. */
const slotJob *slotJobsNext(const slotJobs *j, const slotJob *job);
const slotJob *slotJobsByNumber(const slotJobs *j, uint64_t number); /* NULL if it is not known */
/* Returns whether an export, or an import, runs. */
bool slotJobsRun(const slotJobs *j, bool is_export);
/* Reads the words after MIGRATESLOTS: SLOTSRANGE a b [a b ...] NODE id ... Returns the error, or NULL: then *requests
 * has *count requests, whose slots are in *sets; the caller frees both. */
sds slotJobsParse(const slotJobs *j, const clusterMachine *m, const slice *words, size_t word_count,
                  slotJobRequest **requests, slotSet **sets, size_t *count);
/* Checks the invariants; for tests and debug builds. Panics. */
void slotJobsCheck(const slotJobs *j);

#endif

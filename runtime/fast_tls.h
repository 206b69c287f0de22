// Thread-local variables accessed by one instruction (initial-exec TLS), for state that every op
// reads. They may have neither a constructor nor a destructor.
#ifndef SLUICE_RUNTIME_FAST_TLS_H_
#define SLUICE_RUNTIME_FAST_TLS_H_

#if defined(__GNUC__)
#define SLUICE_FAST_TLS __attribute__((tls_model("initial-exec"))) thread_local constinit
#else
#define SLUICE_FAST_TLS thread_local constinit
#endif

#endif  // SLUICE_RUNTIME_FAST_TLS_H_

/* ======== Share: functions that files have once ============= >>head/share */
/* TVMFFI_I_ONCE(type, name, (parameters)) begins the definition of a function
   of the interface that runs rarely. By default each file has its own. With
   TVMFFI_SHARE_INTERFACE only the implementing file defines the function.
   Another file declares the name, and the body belongs to a function that
   nothing calls, which compilers drop. The symbol's name contains the version
   and marks for TVMFFI_NO_METADATA, which removes members of tvmffi_func, and
   TVMFFI_NO_THREADS, with which counts are not atomic. Files that differ in one
   of them do not link. The name begins with tvmffi_i_ because tvmffi_i_own_line
   skips such frames.
   TVMFFI_I_RUNTIME_ONCE defines a function of the runtime that other files
   share, too. TVMFFI_I_SMALL_ONCE begins a function that runs often, which
   files share only if they are compiled for size. */

#pragma once

#include "config.h"
#include "compiler.h"
#include "abi.h"

#if TVMFFI_SHARE_INTERFACE && TVMFFI_I_GNU && !TVMFFI_STATIC && !TVMFFI_DEBUG
#define TVMFFI_I_SHARES 1
#ifdef TVMFFI_PREFIX
#define TVMFFI_I_SHARED_PREFIX TVMFFI_I_QUOTE(TVMFFI_PREFIX)
#else
#define TVMFFI_I_SHARED_PREFIX ""
#endif
#if TVMFFI_NO_METADATA
#define TVMFFI_I_SHARED_LAYOUT "no_metadata_"
#else
#define TVMFFI_I_SHARED_LAYOUT ""
#endif
#if TVMFFI_NO_THREADS
#define TVMFFI_I_SHARED_THREADS "no_threads_"
#else
#define TVMFFI_I_SHARED_THREADS ""
#endif
#define TVMFFI_I_SHARED_NAME(name)                                           \
  __asm__("tvmffi_i_" TVMFFI_I_QUOTE(TVMFFI_VERSION_MAJOR) "_" TVMFFI_I_QUOTE( \
      TVMFFI_VERSION_MINOR) "_" TVMFFI_I_QUOTE(TVMFFI_VERSION_PATCH) "_"     \
          TVMFFI_I_SHARED_LAYOUT TVMFFI_I_SHARED_THREADS                     \
              TVMFFI_I_SHARED_PREFIX name)
#define TVMFFI_I_SHARED(type, name, parameters) \
  TVMFFI_I_EXTERN_C TVMFFI_I_HIDDEN             \
      type name parameters TVMFFI_I_SHARED_NAME(#name);
#define TVMFFI_I_RUNTIME_ONCE TVMFFI_I_EXTERN_C
#if defined(TVMFFI_IMPLEMENTATION)
#define TVMFFI_I_DEFINE_SHARED(type, name, parameters) \
  TVMFFI_I_SHARED(type, name, parameters)              \
  TVMFFI_I_EXTERN_C type name parameters
#else
#define TVMFFI_I_DEFINE_SHARED(type, name, parameters) \
  TVMFFI_I_SHARED(type, name, parameters)              \
  TVMFFI_I_COLD type name##_unused parameters
#endif
#define TVMFFI_I_ONCE(type, name, parameters) \
  TVMFFI_I_DEFINE_SHARED(__attribute__((__cold__)) type, name, parameters)
#if defined(__OPTIMIZE_SIZE__) || defined(TVMFFI_IMPLEMENTATION)
#define TVMFFI_I_SMALL_ONCE(type, name, parameters) \
  TVMFFI_I_DEFINE_SHARED(type, name, parameters)
#endif
#else
#define TVMFFI_I_SHARES 0
#define TVMFFI_I_RUNTIME_ONCE TVMFFI_I_SLOW
#define TVMFFI_I_ONCE(type, name, parameters) \
  TVMFFI_I_COLD type name parameters
#endif
#ifndef TVMFFI_I_SMALL_ONCE
#define TVMFFI_I_SMALL_ONCE(type, name, parameters) \
  TVMFFI_I_INLINE type name parameters
#endif

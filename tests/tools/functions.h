/* functions.h: every exported C function, without its TVMFFI prefix, for the
 * tests and benchmarks that bind a library by hand: TVMFFI_FUNCTIONS(X) is
 * X(AnyViewToOwnedAny) X(Backtrace) and so on.
 */
#ifndef TVMFFI_TESTS_FUNCTIONS_H_
#define TVMFFI_TESTS_FUNCTIONS_H_

#define TVMFFI_FUNCTIONS(X)              \
  X(AnyViewToOwnedAny)                   \
  X(Backtrace)                           \
  X(BigIntFromByteArray)                 \
  X(BigIntGetContentByteArray)           \
  X(BytesFromByteArray)                  \
  X(DataTypeFromString)                  \
  X(DataTypeToString)                    \
  X(EnvCheckSignals)                     \
  X(EnvGetDLPackManagedTensorAllocator)  \
  X(EnvGetStream)                        \
  X(EnvModLookupFromImports)             \
  X(EnvModRegisterContextSymbol)         \
  X(EnvModRegisterSystemLibSymbol)       \
  X(EnvRegisterCAPI)                     \
  X(EnvSetDLPackManagedTensorAllocator)  \
  X(EnvSetStream)                        \
  X(EnvTensorAlloc)                      \
  X(ErrorCreate)                         \
  X(ErrorCreateWithCauseAndExtraContext) \
  X(ErrorMoveFromRaised)                 \
  X(ErrorSetRaised)                      \
  X(ErrorSetRaisedFromCStr)              \
  X(ErrorSetRaisedFromCStrParts)         \
  X(FunctionCall)                        \
  X(FunctionCreate)                      \
  X(FunctionGetGlobal)                   \
  X(FunctionSetGlobal)                   \
  X(FunctionSetGlobalFromMethodInfo)     \
  X(GetCustomAllocator)                  \
  X(GetTypeAttrColumn)                   \
  X(GetTypeInfo)                         \
  X(GetVersion)                          \
  X(HandleDeinitOnce)                    \
  X(HandleInitOnce)                      \
  X(ObjectCreateOpaque)                  \
  X(ObjectDecRef)                        \
  X(ObjectIncRef)                        \
  X(SetCustomAllocator)                  \
  X(StringFromByteArray)                 \
  X(TensorCreateUnsafeView)              \
  X(TensorFromDLPack)                    \
  X(TensorFromDLPackVersioned)           \
  X(TensorToDLPack)                      \
  X(TensorToDLPackVersioned)             \
  X(TypeGetOrAllocIndex)                 \
  X(TypeKeyToIndex)                      \
  X(TypeRegisterAttr)                    \
  X(TypeRegisterField)                   \
  X(TypeRegisterMetadata)                \
  X(TypeRegisterMethod)

#endif /* TVMFFI_TESTS_FUNCTIONS_H_ */

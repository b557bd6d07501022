-- A call from Lua of a C function; from LuaJIT, by its FFI.
local count, library, module = tonumber(arg[1]), arg[2], arg[3]
local name, add = 'Lua, a C function', nil
if jit then
  local ffi = require('ffi')
  ffi.cdef('int64_t callee_add(int64_t a, int64_t b);')
  name, add = 'LuaJIT, FFI', ffi.load(library).callee_add
else
  add = assert(package.loadlib(module, 'luaopen_callee'))()
end
local x = 0
local begin = os.clock()
for _ = 1, count do x = add(x, 1) end
print(string.format('%s\t%.3f', name, (os.clock() - begin) / count * 1e9))
assert(tonumber(x) == count)

/* lua.c: a module for Lua. */
#include <lauxlib.h>
#include <lua.h>

#include "callee.h"

static int add(lua_State *lua) {
  const lua_Integer a = luaL_checkinteger(lua, 1);
  const lua_Integer b = luaL_checkinteger(lua, 2);
  lua_pushinteger(lua, (lua_Integer)callee_add(a, b));
  return 1;
}

__attribute__((visibility("default"))) int luaopen_callee(lua_State *lua) {
  lua_pushcfunction(lua, add);
  return 1;
}

// joinAgain(RPCServer, url, key, ...) starts the client's RPC server with these
// arguments, and another one whenever its connection ends: at once after a
// session, also if the connection ended inside of a packet, at which the client
// alone gives up; else after 1, 2, 4 and at most 60 seconds. A page loads this
// file as a script, node imports it for its effect.
globalThis.joinAgain = (RPCServer, ...options) => {
  let seconds = 1;
  const join = () => new Server(...options);
  class Server extends RPCServer {
    constructor(...args) {
      super(...args);
      // "close" follows; without a listener node would end here.
      this.socket.addEventListener("error", () => {});
    }

    onClose(event) {
      const wait = this.inst === undefined ? seconds : 0;
      seconds = wait ? Math.min(2 * seconds, 60) : 1;
      this.state = "closed"; // otherwise the client might join, too
      try {
        super.onClose(event);
      } catch (error) {
        this.log(`The session's end failed: ${error}`);
      }
      this.log(`Joining again in ${wait} s..`);
      setTimeout(join, 1000 * wait);
    }
  }
  join();
};

import TransferModel

/// What docs/protocol.md says about bodies that are sent to a client as they arrive.
extension ProtocolReference {
    static let streams = """
        A `data` task with `stream: true` sends the body of its answer as `\(RPCCatalog.dataNotification)` notifications to the \
        connection that has the task's session; their `params` are a [TaskData](#taskdata). The daemon keeps none of it: \
        `task.body` and `response.body` are empty.

        - **Where.** In sessions of kind `default` and `ephemeral`, and for `kind: data`. Otherwise task.add refuses `stream` \
        (`request.bad_field`), because a durable task outlives its connection, and a download or an upload has no body to send.
        - **Credit.** The client gives credit with [`\(Methods.giveCredit.name)`](#\(MarkdownPage.anchor(Methods.giveCredit.name))), even before \
        the task runs. The daemon sends the request and reads the header of the answer without credit. Then the transfer \
        pauses at its socket until there is some; other transfers continue. A common method is to give a few MiB at once, and then \
        as much as was consumed. Credit for a task that has ended is not an error. Credit from another connection is refused with \
        `task.not_found`, and credit for a task without `stream` with `request.bad_field`.
        - **A client that does not read.** Even with credit, no more bytes of any body are sent while about 256 KiB wait for the \
        connection.
        - **Order.** `task.response` of an attempt comes before its first byte, and all bytes come before `task.completed`, \
        `task.failed`, `task.waiting`, `task.paused` and `task.cancelled`. Each piece begins where the previous one ended. An empty \
        body has no piece and needs no credit. Bodies of redirects, and of an error status without `acceptsAnyStatus`, are not sent.
        - **Patience.** While the daemon waits for the client to give credit or to read, `timeoutIntervalForRequest` does not count, \
        but `timeoutIntervalForResource` and `deadlineAt` do. After 10 s the task leaves its slot to others and stays connected \
        ([slots](states.md#slots)). Many servers give up after some minutes, \
        which is a failure like any other. Rate limits apply as for downloads.
        - **Continuing.** After a failure or a pause, the body continues at the byte where it stopped, or not at all: no byte is \
        sent twice, and none of another version. It can continue if the request was a GET without a body and without its own Range, \
        if the answer had status 200, a strong validator (ETag, or a Last-Modified that is at least a minute old) and was not \
        decoded, and if the server then sends the rest of that version (Range with If-Range). `task.resumed` reports this. \
        Otherwise the task fails with the error that it met, or with `resume.validator_changed`. The message says why, and \
        `details.delivered` says how many bytes were sent. The same rules apply to `task.retry`. Before the first byte has \
        arrived, an attempt is repeated like any other.
        - **Content codings** are decoded unless the task has its own Accept-Encoding. Offsets and credit count decoded bytes. \
        A decoded body cannot be continued; if that matters, ask for `Accept-Encoding: identity`. A body with more than \
        \(Bounds.decodedRatio) times the coded bytes so far, and more than \(Bounds.decodedAlways >> 20) MiB, fails with \
        `http.protocol`.
        - **Cache.** Stored answers are sent like those that arrive, and an answer that may be stored is stored once all of its body \
        was sent ([cache](cache.md#when-the-cache-is-not-used)).
        - **Ends.** task.pause, task.cancel, session.pause and a higher priority stop a stream like other transfers. When the \
        connection closes, the session and the task end.
        """
}

import TransferModel

/// What docs/protocol.md says of bodies that go to a client as they come.
enum StreamReference {
    static let text = """
        A `data` task with `stream: true` sends the body of its answer as `\(RPCCatalog.dataNotification)` notifications to the \
        connection that has the task's session; their `params` are a [TaskData](#taskdata). The daemon keeps nothing of it: \
        `task.body` and `response.body` have none.

        - **Where.** In sessions of kind `default` and `ephemeral`, and for `kind: data`. Elsewhere task.add refuses `stream` \
        (`request.bad_field`): a durable task outlives its connection, and a download or an upload has no body to send.
        - **Credit.** The client opens the window with [`\(GiveCredit.name)`](#\(MarkdownPage.anchor(GiveCredit.name))), before \
        the task runs if it likes. The request goes out, and the head of the answer is read, without credit; then the transfer \
        pauses at its socket until there is some. Other transfers go on. A common way: give some MiB at once, then as much as was \
        consumed. Credit for a task that has ended is no error. Credit by another connection gets `task.not_found`, and for a \
        task without `stream` `request.bad_field`.
        - **A client that does not read.** Credit or not, nothing more of any body is sent while some 256 KiB wait for the \
        connection.
        - **Order.** `task.response` of an attempt comes before its first byte, all bytes before `task.completed`, `task.failed`, \
        `task.waiting`, `task.paused` and `task.cancelled`; each piece begins where the one before it ended. An empty body has no \
        piece, and needs no credit. Bodies of redirects, and of an error status without `acceptsAnyStatus`, are not sent.
        - **Patience.** While the client's credit or reading is waited for, `timeoutIntervalForRequest` does not count; \
        `timeoutIntervalForResource` and `deadlineAt` do. The task keeps its slot meanwhile; many servers give up after some \
        minutes, which is a failure as any other. Rate limits hold as for downloads.
        - **Continuing.** After a failure, or a pause, the body goes on at the byte where it stopped, or not at all: no byte comes \
        twice, and none of another version. It goes on if the answer to a GET without a body and without a Range of its own came \
        with status 200, a strong validator (ETag, or Last-Modified of a minute before) and not decoded, and if the server then \
        sends the rest of that version (Range with If-Range). `task.resumed` tells it. Otherwise the task fails with the error that \
        it met, or `resume.validator_changed`; the message says why, and `details.delivered` how many bytes came. This is also \
        what `task.retry` does. Until a first byte came, an attempt is repeated as any other.
        - **Content codings** are undone unless the task has an Accept-Encoding of its own; offsets and credit count decoded bytes. \
        A decoded body cannot be continued: ask for `Accept-Encoding: identity` if that matters. A body with more than \
        \(Bounds.decodedRatio) times the coded bytes so far, and more than \(Bounds.decodedAlways >> 20) MiB, ends with \
        `http.protocol`.
        - **Ends.** task.pause, task.cancel, session.pause and a higher priority stop it as other transfers. With the connection, \
        session and task end.
        """
}

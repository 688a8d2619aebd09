import TransferModel

/// Generates docs/protocol.md, docs/errors.md and the OpenRPC document from the declarations.
package enum ProtocolReference {
    /// docs/protocol.md.
    package static func markdown() -> String {
        var page = MarkdownPage()
        page.add(Self.preamble)
        page.add("## Limits")
        page.add(aboutLimits)
        page.table(["What", "At most"], limits)
        page.add("## Methods")
        page.table(
            ["Method", "Does"], Methods.all.map { ["[`\($0.name)`](#\(MarkdownPage.anchor($0.name)))", $0.summary] })
        for method in Methods.all { add(method, to: &page) }
        page.add("## Objects")
        for object in ReferenceObject.all { add(object, to: &page) }
        page.add("## Events")
        page.add(
            """
            An event is the notification `\(RPCCatalog.eventNotification)`; its `params` are an [Event](#event) and the \
            members of its type.
            """)
        page.table(
            ["Type", "Members", "Means"],
            EventType.allCases.map { ["`\($0.rawValue)`", members($0), summary($0)] })
        page.add("## Streams")
        page.add(streams)
        page.add("## Features")
        page.add(
            "Names that `daemon.info` may list: \(RPCCatalog.features.map { "`\($0)`" }.joined(separator: ", "))."
        )
        return page.text
    }

    /// docs/errors.md.
    package static func errorsMarkdown() -> String {
        var page = MarkdownPage()
        page.add(
            """
            # Errors

            Generated from the sources; do not edit. Tasks, events, logs, the wire and `dlctl` share these names. An error \
            response carries one as `error.data.code`, and as `error.code` the JSON-RPC integer that belongs to it and never \
            changes. `error.data.retryable` says \
            whether the same request may succeed later, `error.message` what to do. The `error` of a task and of its \
            events has the same members. `varies` means that it depends on the error: a status of 503 may pass, one of \
            404 will not.
            """)
        page.table(
            ["Code", "JSON-RPC", "Retryable", "Means"],
            ErrorCode.allCases.map {
                [
                    "`\($0.rawValue)`", String($0.rpcCode), $0.mayVary ? "varies" : $0.retryable ? "yes" : "no",
                    $0.summary,
                ]
            })
        page.add(
            """
            `auth.required` says in its `details` where credentials were looked for, and why Kerberos (`details.kerberos`) or the \
            credential helper was no help. [protocol.md](protocol.md#errors) describes the `details` of all codes.
            """)
        return page.text
    }

    private static func add(_ method: any RPCMethod, to page: inout MarkdownPage) {
        page.add("### \(method.name)")
        page.add(method.summary)
        let parameters = method.parameters.fields
        if parameters.isEmpty {
            page.add("No parameters.")
        } else {
            page.fields("Parameter", parameters)
        }
        page.add("Result: \(MarkdownPage.link(method.result)).")
        if !method.errors.isEmpty {
            page.add("Errors: \(method.errors.map { "`\($0.rawValue)`" }.joined(separator: ", ")).")
        }
    }

    private static func add(_ object: ReferenceObject, to page: inout MarkdownPage) {
        page.add("### \(object.name)")
        if let base = object.base {
            let lacks = base.without.map { "`\($0)`" }.joined(separator: ", ")
            page.add(
                """
                The members of [\(base.name)](#\(MarkdownPage.anchor(base.name))) without \(lacks); user info in URLs, \
                values of header fields that carry credentials, and body content are left out too. And:
                """)
        }
        page.fields("Member", object.members)
    }

    private static let preamble = """
        # Wire protocol, version \(RPCCatalog.protocolVersion)

        Generated from the method declarations in Sources/TransferRPC; do not edit. `rpc.discover` returns the same as an \
        OpenRPC document.

        ## Transport

        - A Unix stream socket. The daemon listens on `--socket`, else `$DLD_SOCKET`, else `/run/dld/dld.sock` with \
        `--system`, else `$XDG_RUNTIME_DIR/dld/dld.sock`. It also always listens on `dld.sock` in the state folder, which is \
        `$STATE_DIRECTORY`, else `$XDG_STATE_HOME/dld`, else `~/.local/state/dld`, and `/var/lib/dld` with `--system`. Try the state \
        folder first: a running daemon is there, whatever its environment. A removed socket is made again within 2 s. A named path \
        has at most 107 bytes; to reach a longer one, open its folder and use `/proc/self/fd/N`. The daemon ignores an \
        `$XDG_RUNTIME_DIR` that belongs to another user or is too long.
        - The kernel identifies the peer (SO_PEERCRED). It sees its own sessions, tasks and events; root, and in system mode \
        members of the admin group, may name an `owner`.
        - JSON-RPC 2.0, one JSON value per line, UTF-8, LF. A line that is too long ([Limits](#limits)) gets an \
        error and the connection closes; after any other mistake the connection continues.
        - Responses come in any order; requests of one connection begin in order. At most 64 of them are answered at the \
        same time; further ones are not read yet.
        - Parameters are named. Unknown ones are refused by name (`request.unknown_field`).
        - Byte counts and ids are 64-bit integers; unknown length is -1. Times are RFC 3339 in UTC with milliseconds. \
        Durations are seconds, rates bytes per second, 0 = unlimited. Absent members are missing or null.
        - If a client does not read, its events and requests stop when some 256 KiB wait for it. It is dropped when more than \
        8 MiB wait (long answers), or when it subscribes and takes no byte for 60 s: the connection closes without notice, \
        perhaps in the middle of a line. Events of volatile sessions wait as long as they count for at most 128 MiB, with 256 bytes \
        for each; meanwhile the connection's further requests wait too. Nothing of durable sessions is lost: `events.subscribe` with the last number received, or with its \
        durable name, continues from there.

        ## Errors

        `error.code` is the JSON-RPC integer, another for each code, `error.message` a sentence about what to do, `error.data` is \
        `{"code": …, "retryable": …, "details": {…}}`; [errors.md](errors.md) lists the codes. `details.field` is the path \
        of the field at fault, such as `tasks[3].checksum.value`. In a task's error, `details.status` is the HTTP status, \
        `details.proxy` the proxy's host and port, and `details.certificate` what is wrong with the server's certificate: \
        \(CertificateFault.allCases.map { "`\($0.rawValue)`" }.joined(separator: ", ")). In \
        `destination.not_writable`, `details.tooLarge` is true if the folder, or the daemon's limit, does not allow a file of that \
        size. In `disk.io`, `details.folder` says what is wrong with the folder: \
        \(FolderFault.allCases.map { "`\($0.rawValue)`" }.joined(separator: ", ")). In `http.protocol`, `details.decompressionBomb` \
        is true if the body was refused because so much would come out of it. In `auth.required`, `details.protectionSpace` is the scheme, host and port that credentials were looked for (of a \
        proxy if `details.isProxy` is true), `details.storedCredential` is `refused` if what is stored for it was refused, \
        `details.kerberos` is what Kerberos said, in its own words, if it was no help, and `details.credentialHelper` is `nothing`, \
        `refused` or `failed` if a helper was asked in vain. In `decision.gone`, `details.closedBy` says what closed the question, if it is the caller's: \
        `answer`, `deadline`, `end` (of its task) or `task` (it continued without an answer). In `deadline.exceeded`, `details.cause` is the code of the failure after which the task waited. If HSTS turned http into https \
        for a server that cannot be reached, `details.hsts` is `{"domain": …, "learned": …}`: the host that asked for https, and when \
        it did so last. If such a server does not speak TLS, the task fails without another attempt. Any method may return \
        \(RPCCatalog.commonErrors.map { "`\($0.rawValue)`" }.joined(separator: ", ")).
        """
}

import TransferModel
import TransferRPC

/// Everything known about one task, for `show`. What users ask first comes first, and the server's header comes last.
enum TaskSheet {
    static func render(_ summary: TaskSummary, width: Int? = nil) -> [StyledText] {
        let (task, now) = (summary.task, summary.now)
        var sheet = Sheet()
        content(task, &sheet)
        figures(task, &sheet)
        handling(task, &sheet, now: now)
        times(task, &sheet, now: now)
        request(task.spec, &sheet)
        if let current = task.currentRequest { request(inPlaceOfOwn: current, &sheet) }
        response(task, &sheet)
        return summary.render(width: width) + [""] + sheet.render(width: width)
    }

    /// What is fetched or sent.
    private static func content(_ task: TaskView, _ sheet: inout Sheet) {
        let spec = task.spec
        sheet.add("url", spec.url.map(Printable.text))
        for mirror in spec.mirrors ?? [] { sheet.add("mirror", Printable.text(mirror)) }
        sheet.add("method", spec.method.map(Printable.text))
        sheet.add("protocol", spec.uploadProtocol.map(Printable.text))
        if spec.kind != .upload { sheet.add("body", spec.body?.file.map(Printable.text)) }
        // The daemon sends the body only to users who may see it.
        sheet.add("body", spec.body.flatMap(shown))
        sheet.add("description", spec.description.map(Printable.text))
        sheet.add("tags", spec.tags.map { Printable.text($0.joined(separator: ", ")) })
        for (name, value) in (spec.attributes ?? [:]).sorted(by: { $0.key < $1.key }) {
            sheet.add("attribute", Printable.text("\(name)=\(value)"))
        }
        sheet.add("answer", task.response?.body?.text.map(Self.oneLine))
    }

    private static func figures(_ task: TaskView, _ sheet: inout Sheet) {
        if task.bytesToSend > 0 || task.spec.kind == .upload {
            sheet.add("sent", progress(task.bytesSent, of: task.bytesToSend, isOver: task.state.isFinal))
        }
        if task.spec.kind != .upload {
            sheet.add("received", progress(task.bytesReceived, of: task.bytesExpected, isOver: task.state.isFinal))
        }
        sheet.add("resumed from", task.resumedFrom.map { exact(ByteCount($0)) })
        parts(task.segments ?? [], &sheet)
        let spec = task.spec
        sheet.add("checksum", spec.checksum.map { "\($0.algorithm.rawValue):\($0.value)" })
        sheet.add("sha-256", task.sha256)
        if let isVerified = task.verified, spec.kind == .download {
            sheet.add("verified", isVerified ? "yes, by its digest" : "no: no digest was given")
        }
        sheet.add("size", spec.size.map(exact))
        sheet.add("pieces", spec.pieces.map { "\(exact($0.length)) each, \($0.algorithm.rawValue)" })
    }

    private static func progress(_ part: Int64, of whole: Int64, isOver: Bool) -> String {
        let done = exact(ByteCount(part))
        guard whole >= 0 else { return isOver ? done : done + " of an unknown length" }
        let percent = Figures.percent(ByteCount(part), of: ByteCount(whole)).map { ", \($0)%" } ?? ""
        return "\(done) of \(exact(ByteCount(whole)))\(percent)"
    }

    private static func exact(_ count: ByteCount) -> String {
        count.rawValue < 1024 ? Figures.bytes(count) : "\(Figures.bytes(count)) (\(count.rawValue))"
    }

    private static let shownParts = 16

    private static func parts(_ segments: [SegmentView], _ sheet: inout Sheet) {
        for segment in segments.prefix(shownParts) {
            let whole = ByteCount(segment.end.rawValue - segment.start.rawValue)
            var text =
                "\(Figures.bytes(segment.received)) of \(Figures.bytes(whole)) from \(Figures.bytes(segment.start))"
            if segment.active { text += ", active" }
            if let url = segment.url { text += ", " + Printable.text(url) }
            sheet.add("part", text)
        }
        if segments.count > shownParts { sheet.add("part", "and \(segments.count - shownParts) more") }
    }

    /// How the daemon treats the task.
    private static func handling(_ task: TaskView, _ sheet: inout Sheet, now: Timestamp) {
        let spec = task.spec
        sheet.add("session", Printable.text(task.session))
        sheet.add("priority", spec.priority.map(priority))
        sheet.add("limit", spec.rateLimit.map(Figures.limit))
        sheet.add("connections", spec.connections.map(String.init))
        sheet.add("begins", spec.earliestBeginAt.map { LocalTime.text($0, seenFrom: now) })
        sheet.add("deadline", spec.deadlineAt.map { LocalTime.text($0, seenFrom: now) })
        sheet.add("on conflict", spec.conflictPolicy?.rawValue)
        sheet.add("client token", spec.clientToken.map(Printable.text))
    }

    static func priority(_ priority: TaskPriority) -> String {
        switch priority {
        case .low: "low"
        case .normal: "normal"
        case .high: "high"
        default: "\(priority.value)"
        }
    }

    private static func times(_ task: TaskView, _ sheet: inout Sheet, now: Timestamp) {
        sheet.add("added", LocalTime.text(task.createdAt, seenFrom: now))
        sheet.add("started", task.startedAt.map { LocalTime.text($0, seenFrom: now) })
        sheet.add("finished", task.finishedAt.map { LocalTime.text($0, seenFrom: now) })
        sheet.add("attempts", String(task.attempts))
        sheet.add("owner", "uid \(task.owner)")
    }

    /// The credentials are present only if the daemon was asked for them.
    private static func request(_ spec: TaskSpec, _ sheet: inout Sheet) {
        for header in spec.headers ?? [] { sheet.add("header", Printable.text("\(header.name): \(header.value)")) }
        sheet.add("user", spec.username.map(Printable.text))
        sheet.add("password", spec.password.map(Printable.text))
        sheet.add("bearer", spec.bearer.map(Printable.text))
        for (name, value) in (spec.formFields ?? [:]).sorted(by: { $0.key < $1.key }) {
            sheet.add("field", Printable.text("\(name)=\(value)"))
        }
        for cookie in spec.cookies ?? [] { sheet.add("cookie", Printable.text("\(cookie.name)=\(cookie.value)")) }
        sheet.add("netrc", spec.netrc.map(Printable.text))
        sheet.add("proxy", spec.proxy.map(Printable.text))
        sheet.add("interface", spec.interface.map(Printable.text))
        sheet.add("ca file", spec.caFile.map(Printable.text))
        sheet.add("certificate", spec.clientCertificate.map { Printable.text($0.certificate) })
    }

    /// What is requested since a client answered a question; present only with the credentials.
    private static func request(inPlaceOfOwn request: TaskRequest, _ sheet: inout Sheet) {
        let parts = [request.method, request.url].compactMap { $0.map(Printable.text) }
        sheet.add("now requests", parts.joined(separator: " "))
        for header in request.headers ?? [] { add(header, &sheet) }
        sheet.add("  body", request.body.flatMap { shown($0) ?? $0.size.map(exact) })
    }

    private static func shown(_ body: RequestBody) -> String? {
        body.text.map(oneLine) ?? body.base64.map { _ in "binary; see --json" }
    }

    /// A field of the header of the lines before.
    private static func add(_ header: HeaderField, _ sheet: inout Sheet) {
        sheet.add("  \(Printable.text(header.name, limit: 30))", Printable.text(header.value))
    }

    private static func response(_ task: TaskView, _ sheet: inout Sheet) {
        guard let response = task.response else { return }
        if let status = response.status {
            sheet.add("status", "\(status) \(Printable.text(response.statusText ?? ""))")
        }
        // Credentials in the query of this URL are masked; those in the task's own URL are not.
        if response.url.prefix(while: { $0 != "?" }) != task.spec.url?.prefix(while: { $0 != "?" }) {
            sheet.add("answered by", Printable.text(response.url))
        }
        sheet.add("type", response.mimeType.map(Printable.text))
        sheet.add("charset", response.textEncoding.map(Printable.text))
        for header in response.headers { add(header, &sheet) }
    }

    private static func oneLine(_ text: String) -> String {
        Printable.text(text.split(whereSeparator: \.isNewline).joined(separator: " "), limit: 500)
    }
}

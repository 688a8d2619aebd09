import Threading

/// How an origin answers one request. The names say what is wrong with the answer; `good` is correct.
package struct Behaviour: Sendable {
    package let respond: @Sendable (OriginRequest, Reply) throws -> Void

    package init(_ respond: @escaping @Sendable (OriginRequest, Reply) throws -> Void) { self.respond = respond }

    /// Ranges, If-Range and HEAD by RFC 9110.
    /// - Parameters:
    ///   - rate: bytes per second.
    ///   - cutAfter: the number of body bytes after which the connection closes.
    package static func good(_ resource: Resource, rate: Int? = nil, cutAfter: Int? = nil) -> Behaviour {
        Behaviour { request, reply in
            reply.rate = rate
            try answer(request, reply, resource, cutAfter: cutAfter)
        }
    }

    package static func status(
        _ code: Int, _ headers: [(name: String, value: String)] = [], body: String = ""
    ) -> Behaviour {
        Behaviour { _, reply in
            try reply.head(code, "Status", headers + [("Content-Length", "\(body.utf8.count)")])
            try reply.body(Array(body.utf8)[...])
        }
    }

    package static func redirect(to location: String, status: Int = 302) -> Behaviour {
        .status(status, [("Location", location)])
    }

    /// Redirects to another place each time. The number counts from 1.
    package static func redirect(_ location: @escaping @Sendable (Int) -> String) -> Behaviour {
        let counter = Guarded(0)
        return Behaviour { request, reply in
            let number = counter.withLock { counter -> Int in
                counter += 1
                return counter
            }
            try Behaviour.redirect(to: location(number)).respond(request, reply)
        }
    }

    /// Chooses a behaviour for each request.
    package static func choose(_ body: @escaping @Sendable (OriginRequest) -> Behaviour) -> Behaviour {
        Behaviour { request, reply in try body(request).respond(request, reply) }
    }

    /// Answers 401 unless the credentials are there.
    package static func basic(_ credentials: String, then behaviour: Behaviour) -> Behaviour {
        .choose { request in
            request.header("Authorization") == "Basic \(credentials)"
                ? behaviour : .status(401, [("WWW-Authenticate", "Basic realm=\"test\"")])
        }
    }

    /// Accepts the connection and never answers.
    package static let silent = Behaviour { _, reply in try reply.beSilent() }

    /// Closes the connection without an answer.
    package static let hangUp = Behaviour { _, _ in throw Reply.Gone() }

    /// Resets the connection.
    package static let reset = Behaviour { _, reply in try reply.reset() }

    // MARK: - The correct answer, from which the wrong ones are derived

    /// The part that a range request asks for, if the range must be honoured.
    static func part(_ request: OriginRequest, of resource: Resource) -> Range<Int>? {
        guard let range = request.range, range.first < resource.content.size else { return nil }
        if let condition = request.header("If-Range") {
            let holds =
                condition.hasPrefix("\"") ? condition == resource.etag : condition == resource.lastModified
            guard holds else { return nil }
        }
        let last = min(range.last ?? resource.content.size - 1, resource.content.size - 1)
        return last < range.first ? nil : range.first..<last + 1
    }

    static func answer(
        _ request: OriginRequest, _ reply: Reply, _ resource: Resource, cutAfter: Int? = nil
    ) throws {
        let total = resource.content.size
        if let range = request.range, range.first >= total,
            request.header("If-Range") == nil
                || request.header("If-Range") == resource.etag
        {
            try reply.head(
                416, "Range Not Satisfiable", [("Content-Range", "bytes */\(total)"), ("Content-Length", "0")])
            return
        }
        let common = resource.validators + resource.headers + [("Content-Type", resource.contentType)]
        if let part = part(request, of: resource) {
            try reply.head(
                206, "Partial Content",
                common + [
                    ("Content-Range", "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(total)"),
                    ("Content-Length", "\(part.count)"),
                ])
            try send(resource.content.bytes[part], request, reply, cutAfter: cutAfter)
        } else {
            try reply.head(
                200, "OK", common + [("Content-Length", "\(total)"), ("Accept-Ranges", "bytes")])
            try send(resource.content.bytes[...], request, reply, cutAfter: cutAfter)
        }
    }

    static func send(
        _ bytes: ArraySlice<UInt8>, _ request: OriginRequest, _ reply: Reply, cutAfter: Int? = nil
    ) throws {
        guard request.method != "HEAD" else { return }
        try reply.body(bytes.prefix(cutAfter ?? bytes.count))
        if let cutAfter, cutAfter < bytes.count { throw Reply.Gone() }
    }
}

import Threading

/// The wrong answers in the table of transfer rules. Those about ranges answer a request without Range correctly.
extension Behaviour {
    /// 206 whose bytes begin `shift` after the requested ones, as its Content-Range says.
    package static func wrongStart(_ resource: Resource, shift: Int = 1) -> Behaviour {
        partial(resource) { part, total in
            let moved = min(part.lowerBound + shift, total - 1)
            return (moved..<total, "bytes \(moved)-\(total - 1)/\(total)")
        }
    }

    /// 206 whose Content-Range has another total length.
    package static func otherTotal(_ resource: Resource) -> Behaviour {
        partial(resource) { part, total in (part, "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(total + 1)") }
    }

    /// 206 with another entity tag than the requested one, and with another version's bytes.
    package static func otherETag(_ other: Resource) -> Behaviour {
        .choose { request in
            var unconditional = request
            unconditional.headers.removeAll { $0.name.lowercased() == "if-range" }
            let changed = unconditional
            return Behaviour { _, reply in try answer(changed, reply, other) }
        }
    }

    package static func noContentRange(_ resource: Resource) -> Behaviour {
        partial(resource) { part, _ in (part, nil) }
    }

    /// 206 with an invalid Content-Range.
    package static func badContentRange(_ resource: Resource, _ field: String) -> Behaviour {
        partial(resource) { part, _ in (part, field) }
    }

    /// A correct 206 that ends early, as RFC 9110 section 15.3.7 allows.
    package static func shortPart(_ resource: Resource, length: Int) -> Behaviour {
        partial(resource) { part, total in
            let short = part.prefix(length)
            return (short, "bytes \(short.lowerBound)-\(short.upperBound - 1)/\(total)")
        }
    }

    /// 206 without any validator. If-Range is ignored, so the bytes may be of another version.
    package static func unproven(_ other: Resource) -> Behaviour {
        .choose { request in
            guard request.range != nil else { return .good(other) }
            var bare = other
            (bare.etag, bare.lastModified) = (nil, nil)
            return .otherETag(bare)
        }
    }

    /// 200 whose body is only the range that was requested, as its Content-Range says.
    package static func sliceUnder200(_ resource: Resource) -> Behaviour {
        .choose { request in
            guard let range = request.range else { return .good(resource) }
            let total = resource.content.size
            return Behaviour { request, reply in
                let rest = resource.content.bytes[range.first...]
                try reply.head(
                    200, "OK",
                    resource.validators + [
                        ("Content-Range", "bytes \(range.first)-\(total - 1)/\(total)"),
                        ("Content-Length", "\(rest.count)"),
                    ])
                try send(rest, request, reply)
            }
        }
    }

    /// A status to every range request, and the correct answer to others.
    package static func refusingRanges(_ resource: Resource, _ status: Int) -> Behaviour {
        .choose { $0.range == nil ? .good(resource) : .status(status) }
    }

    /// 206 with the range inside a multipart/byteranges body.
    package static func multipart(_ resource: Resource) -> Behaviour {
        .choose { request in
            guard let part = part(request, of: resource) else { return .good(resource) }
            return Behaviour { request, reply in
                let total = resource.content.size
                let opening =
                    "--cut\r\nContent-Type: application/octet-stream\r\nContent-Range: bytes "
                    + "\(part.lowerBound)-\(part.upperBound - 1)/\(total)\r\n\r\n"
                let bytes = Array(opening.utf8) + resource.content.bytes[part] + Array("\r\n--cut--\r\n".utf8)
                try reply.head(
                    206, "Partial Content",
                    resource.validators + [
                        ("Content-Type", "multipart/byteranges; boundary=cut"), ("Content-Length", "\(bytes.count)"),
                    ])
                try send(bytes[...], request, reply)
            }
        }
    }

    /// 200 with the whole body, and with a Content-Range that nevertheless matches the request.
    package static func wholeWithContentRange(_ resource: Resource) -> Behaviour {
        .choose { request in
            guard let range = request.range else { return .good(resource) }
            let total = resource.content.size
            return ignoringRange(resource.with("Content-Range", "bytes \(range.first)-\(total - 1)/\(total)"))
        }
    }

    /// 200 with the whole body, whatever was requested.
    package static func ignoringRange(_ resource: Resource, rate: Int? = nil, cutAfter: Int? = nil) -> Behaviour {
        Behaviour { request, reply in
            var plain = request
            plain.headers.removeAll { $0.name.lowercased() == "range" }
            reply.rate = rate
            try answer(plain, reply, resource, cutAfter: cutAfter)
        }
    }

    /// 200 to a conditional range request although the version is the same, as some CDNs do. A Range without a
    /// condition is honoured.
    package static func wholeToIfRange(_ resource: Resource) -> Behaviour {
        .choose { request in
            request.header("If-Range") != nil ? ignoringRange(resource) : .good(resource)
        }
    }

    /// 416 to every range request, with `total` in Content-Range or without that field.
    package static func neverSatisfiable(_ resource: Resource, total: String?) -> Behaviour {
        .choose { request in
            guard request.range != nil else { return .good(resource) }
            return .status(416, total.map { [("Content-Range", "bytes */\($0)")] } ?? [])
        }
    }

    /// Chunked coding. If `isEnded` is false, it omits the last chunk and closes.
    package static func chunked(_ resource: Resource, isEnded: Bool, length: Int? = nil) -> Behaviour {
        Behaviour { request, reply in
            let part = part(request, of: resource)
            let bytes = resource.content.bytes[part ?? 0..<resource.content.size]
            var headers = resource.validators + [("Transfer-Encoding", "chunked")]
            if let part {
                headers.append(
                    ("Content-Range", "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(resource.content.size)"))
            }
            try reply.head(part == nil ? 200 : 206, "Chunked", headers + resource.headers)
            var rest = bytes.prefix(length ?? bytes.count)
            while !rest.isEmpty {
                try reply.chunk(rest.prefix(1 << 16))
                rest = rest.dropFirst(1 << 16)
            }
            guard isEnded else { throw Reply.Gone() }
            try reply.raw(Array("0\r\n\r\n".utf8)[...])
        }
    }

    /// Chunked, with `extra` bytes of something else after the body that the header or Content-Range announces.
    package static func overrun(_ resource: Resource, extra: Int) -> Behaviour {
        Behaviour { request, reply in
            let part = part(request, of: resource) ?? 0..<resource.content.size
            let isPart = request.range != nil && part.lowerBound > 0
            var headers = resource.validators + [("Transfer-Encoding", "chunked")]
            if isPart {
                headers.append(
                    ("Content-Range", "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(resource.content.size)"))
            }
            try reply.head(isPart ? 206 : 200, "Endless", headers)
            try reply.chunk(resource.content.bytes[part])
            let junk = [UInt8](repeating: 0x21, count: 1 << 16)
            var left = extra
            while left > 0 {
                try reply.chunk(junk.prefix(left))
                left -= junk.count
            }
            try reply.raw(Array("0\r\n\r\n".utf8)[...])
        }
    }

    /// Two different Content-Length fields.
    package static func twoLengths(_ resource: Resource, other: Int) -> Behaviour {
        Behaviour { request, reply in
            try reply.head(
                200, "OK",
                resource.validators + [
                    ("Content-Length", "\(resource.content.size)"), ("Content-Length", "\(other)"),
                ])
            try send(resource.content.bytes[...], request, reply)
            reply.closes = true
        }
    }

    /// No length: the close ends the body, early or not.
    package static func closeDelimited(_ resource: Resource, length: Int? = nil) -> Behaviour {
        Behaviour { request, reply in
            try reply.head(200, "OK", resource.validators + [("Connection", "close")] + resource.headers)
            try send(resource.content.bytes.prefix(length ?? resource.content.size), request, reply)
            reply.closes = true
        }
    }

    /// Sends the header and some bytes, then nothing more. So a test can act on a running download, however late.
    package static func stalling(_ resource: Resource, after length: Int, rate: Int? = nil) -> Behaviour {
        Behaviour { request, reply in
            reply.rate = rate
            do {
                try answer(request, reply, resource, cutAfter: length)
            } catch is Reply.Gone {
                try reply.beSilent()
            }
        }
    }

    /// A correct answer whose body stops after `length` bytes until the test opens the gate.
    package static func pausing(
        _ resource: Resource, after length: Int, until gate: Guarded<Bool>, rate: Int? = nil
    ) -> Behaviour {
        Behaviour { request, reply in
            reply.rate = rate
            reply.pause = (length, gate)
            try answer(request, reply, resource)
        }
    }

    /// Like `stalling(_:after:rate:)`, but silent from this byte of the file on.
    package static func stalling(_ resource: Resource, at offset: Int, rate: Int? = nil) -> Behaviour {
        .choose { request in
            let start = part(request, of: resource)?.lowerBound ?? 0
            return .stalling(resource, after: max(0, offset - start), rate: rate)
        }
    }

    /// Content coded in spite of `identity`: the resource's content is sent as it is, with this label.
    package static func coded(_ resource: Resource, _ coding: String, cutAfter: Int? = nil) -> Behaviour {
        .good(resource.with("Content-Encoding", coding), cutAfter: cutAfter)
    }

    private static func partial(
        _ resource: Resource, _ vary: @escaping @Sendable (Range<Int>, Int) -> (part: Range<Int>, field: String?)
    ) -> Behaviour {
        .choose { request in
            guard let asked = part(request, of: resource) else { return .good(resource) }
            return Behaviour { request, reply in
                let (part, field) = vary(asked, resource.content.size)
                let range = field.map { [(name: "Content-Range", value: $0)] } ?? []
                try reply.head(
                    206, "Partial Content",
                    resource.validators + range + [("Content-Length", "\(part.count)")])
                try send(resource.content.bytes[part], request, reply)
            }
        }
    }
}

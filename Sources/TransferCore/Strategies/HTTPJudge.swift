import TransferModel

/// Judges the header of an HTTP answer: whether and where to write the body, or what else to do.
package struct HTTPJudge: ResponseJudge, Hashable {
    /// The held bytes that the request continued; nil if it asked for everything.
    var held: HeldBytes?
    /// The request carried If-Range, so a 200 with the held validator is worth one try without it.
    var mayTryBareRange: Bool
    var now: Timestamp
    /// An answer with any status is wanted.
    var acceptsAnyStatus = false
    var asksChallenges = AskedChallenges.none
    /// A part that does not repeat its validator is taken for one of the held version.
    var resumesUnproven = false

    package func judge(_ head: ResponseHead) -> Verdict {
        guard let status = head.status else {
            return .failure(Self.cutHead)
        }
        do throws(TransferError) {
            let length = try head.contentLength()
            switch status {
            case 206: return partial(head, length)
            case 204, 205: return held == nil ? whole(head, 0) : .changed("no content")
            // Not yet (RFC 9110 section 15.3.3).
            case 202 where !acceptsAnyStatus: return other(202, head, length)
            case 200..<300 where Self.isSlice(head, length): return partial(head, length)
            case 200..<300: return success(head, length)
            case 416: return unsatisfied(head, length)
            default: return other(status, head, length)
            }
        } catch {
            return .failure(error)
        }
    }

    static let cutHead = TransferError(
        .networkLost, "The connection ended in the header of the answer.", retryable: true)

    // MARK: 2xx

    private func success(_ head: ResponseHead, _ length: ByteCount?) -> Verdict {
        guard let held else { return whole(head, length) }
        if mayTryBareRange, isSameVersion(head, length, held) { return .stop(.bareRange) }
        if isTextOfAnother(head, length, held) { return .failure(Self.intercepted) }
        if contradictsItself(head, length, held) { return .changed("another length under the same validator") }
        return whole(head, length)
    }

    /// A short text without any validator, although the held version had one: an error under a success status, or a
    /// network that requires a login and answers in the server's place (a captive portal, RFC 8952). The held bytes
    /// stay, and the server is asked again.
    private func isTextOfAnother(_ head: ResponseHead, _ length: ByteCount?, _ held: HeldBytes) -> Bool {
        let type = head.mediaType ?? ""
        let isPage = ["text/html", "application/xhtml+xml"].contains(type)
        let isText = type.hasPrefix("text/") || type.hasSuffix("json") || type.hasSuffix("xml")
        guard isPage || type != held.mediaType ?? (isText ? nil : type) else { return false }
        let before = held.validators, now = head.validators
        guard before.etag != nil || before.lastModified != nil, now.etag == nil, now.lastModified == nil
        else { return false }
        return length != held.total && length ?? .zero < max(held.total ?? .zero, Self.longestText)
    }

    /// No error text is longer.
    private static let longestText = ByteCount(1 << 20)

    private static let intercepted = TransferError(
        .httpProtocol,
        "Another text came instead of the file: an error, or the page of a network that requires a login. The bytes held "
            + "are kept.",
        retryable: true)

    /// Tells whether a 200 has the body of a 206: its range is not the whole, and its length is not that of the whole.
    private static func isSlice(_ head: ResponseHead, _ length: ByteCount?) -> Bool {
        guard let text = head.values("content-range").first,
            case .range(let first, let last, let total) = ContentRange(text)
        else { return false }
        return (first > 0 || last + 1 != total) && (length == nil || length != total)
    }

    /// The same version by its strong validator, but another length: one of the two answers was wrong.
    private func contradictsItself(_ head: ResponseHead, _ length: ByteCount?, _ held: HeldBytes) -> Bool {
        guard let length, let total = held.total, head.contentCoding == held.contentCoding
        else { return false }
        return length != total && held.isConfirmed(by: head.validators)
    }

    /// Some content networks answer If-Range with the whole file although nothing changed.
    private func isSameVersion(_ head: ResponseHead, _ length: ByteCount?, _ held: HeldBytes) -> Bool {
        guard held.isConfirmed(by: head.validators),
            head.contentCoding == held.contentCoding,
            head.values("accept-ranges").first?.trimmed.lowercased() != "none"
        else { return false }
        guard let length, let total = held.total else { return true }
        return length == total
    }

    /// A part without the validator that was asked for (RFC 9110 section 15.3.7).
    static let unproven = TransferError(
        .validatorChanged,
        "The server does not say which version its part belongs to; the download restarts from 0. With resumesUnproven, "
            + "such parts are taken.")

    /// The body replaces the held bytes.
    private func whole(_ head: ResponseHead, _ length: ByteCount?) -> Verdict {
        if let error = ContentCodingRules.tooManyLayers(head) { return .failure(error) }
        return .accept(
            Acceptance(
                offset: 0, truncate: true, expected: length, total: length,
                validators: head.validators, contentCoding: head.contentCoding,
                serverDigests: Self.digests(head), mediaType: head.mediaType))
    }

    private func partial(_ head: ResponseHead, _ length: ByteCount?) -> Verdict {
        let ranges = head.values("content-range")
        let isMultipart = head.mediaType?.hasPrefix("multipart/byteranges") ?? false
        guard !isMultipart, ranges.count == 1, let text = ranges.first,
            case .range(let first, let last, let total) = ContentRange(text)
        else { return held == nil ? unasked(head, length) : .changed("a part without a usable Content-Range") }
        let expected = last - first + 1
        if let length, length != expected {
            return held == nil
                ? unasked(head, length) : .changed("a part of another length than its Content-Range says")
        }
        guard let held else { return unaskedPartial(head, first, expected, total) }
        guard first == held.offset else { return .changed("a part that starts elsewhere") }
        if let total, let known = held.total, total != known { return .changed("a part of another total length") }
        if let known = held.total, last >= known { return .changed("a part beyond the known length") }
        let validators = head.validators
        let digests = Self.digests(head)
        if let what = held.contradicts(validators, digests: digests, coding: head.contentCoding) {
            return .changed(what)
        }
        // Servers were seen to ignore If-Range. Only the answer itself can confirm the version.
        if !resumesUnproven, held.strongValidator != nil, !held.isConfirmed(by: validators) {
            return .stop(.restart(Self.unproven))
        }
        return .accept(
            Acceptance(
                offset: first, expected: expected, total: total ?? held.total,
                validators: held.validators.filled(from: validators), contentCoding: held.contentCoding,
                serverDigests: held.digests.merging(digests) { held, _ in held }, mediaType: held.mediaType))
    }

    /// No part was requested: it is usable only if it is the whole.
    private func unaskedPartial(
        _ head: ResponseHead, _ first: ByteCount, _ expected: ByteCount, _ total: ByteCount?
    ) -> Verdict {
        guard first == 0, let total, total == expected else { return unasked(head, expected) }
        return whole(head, expected)
    }

    private func unasked(_ head: ResponseHead, _ length: ByteCount?) -> Verdict {
        let status = head.status ?? 206
        if acceptsAnyStatus { return other(status, head, length) }
        let host = FailureClassifier.host(of: head.url)
        return .failure(
            TransferError(
                .httpProtocol,
                "\(host) sent a part (\(status)) although the whole file was asked for; give another URL, or report it "
                    + "to the server's operator.", details: ["status": .integer(Int64(status))]))
    }

    // MARK: others

    private func unsatisfied(_ head: ResponseHead, _ length: ByteCount?) -> Verdict {
        guard let held else { return other(416, head, length) }
        // This holds even if another length was announced: the length in the range is the real one.
        guard Self.unsatisfiedTotal(head) == held.offset, held.isConfirmed(by: head.validators)
        else { return .changed("no such range") }
        return .stop(.complete)
    }

    /// The length that a 416 reports.
    static func unsatisfiedTotal(_ head: ResponseHead) -> ByteCount? {
        guard head.status == 416, let text = head.values("content-range").first,
            case .unsatisfied(let total) = ContentRange(text)
        else { return nil }
        return total
    }

    /// Not what was requested: the attempt fails, or this is the answer. Nothing in it belongs to the file, so it is
    /// never continued.
    private func other(_ status: Int, _ head: ResponseHead, _ length: ByteCount?) -> Verdict {
        guard acceptsAnyStatus, !asksChallenges.include(head) else {
            return .stop(FailureClassifier.refusal(head, now: now))
        }
        if let error = ContentCodingRules.tooManyLayers(head) { return .failure(error) }
        // The length is that of the unchanged representation (RFC 9110 section 8.6).
        let length = status == 304 ? 0 : length
        return .accept(
            Acceptance(
                offset: 0, truncate: true, expected: length, total: length,
                contentCoding: head.contentCoding))
    }

    static func digests(_ head: ResponseHead) -> [String: String] {
        .init(uniqueKeysWithValues: DigestFields.parse(head.headers).map { ($0.rawValue, $1) })
    }
}

extension Validators {
    /// Fills in missing validators from a later answer of the same version.
    func filled(from other: Validators) -> Validators {
        Validators(
            etag: etag ?? other.etag, lastModified: lastModified ?? other.lastModified, date: date ?? other.date)
    }
}

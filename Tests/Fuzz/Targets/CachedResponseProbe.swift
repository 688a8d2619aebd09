import TransferCore
import TransferModel

/// Cache-Control, Age, Expires, Vary and similar fields: whatever a server sends, ages and lifetimes stay within their
/// limits, an answer that must not be stored is not stored, and a stored header is read as it was written.
struct CachedResponseProbe: Probe {
    var isStorable: @Sendable (ResponseHead) -> Bool

    private static let now: Int64 = 1_767_225_600

    static let target = FuzzTarget(
        "cached-response",
        words: [
            "Cache-Control: ", "no-store", "no-cache", "max-age=", "must-revalidate", "must-understand", "public",
            "private=\"", "s-maxage=", "stale-if-error=", "Age: ", "Expires: ", "Date: ", "Last-Modified: ",
            "Thu, 01 Jan 2026 00:00:00 GMT", "Vary: ", "*", "Accept-Encoding", "ETag: ", "W/\"", "99999999999999999999",
            "9223372036854775807", "-1", ",", "\"", "\\", "=", "\n", "\t",
        ],
        CachedResponseProbe { CacheRequest.isStorable($0, request: CacheControl([])) },
        // An answer that must not be stored is stored.
        planted: CachedResponseProbe { $0.status.map { CacheRequest.isHeuristicallyCacheable($0) } ?? false })

    func check(_ input: [UInt8]) throws {
        let headers = input.split(separator: 10).compactMap { line -> HeaderField? in
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            return HeaderField(fieldValue(Array(line[..<colon])), fieldValue(Array(line[(colon + 1)...])))
        }
        let head = ResponseHead(url: "http://a.org/", status: 200, headers: headers)
        let directives = CacheControl(head.values("cache-control"))
        let storable = isStorable(head)
        if directives.noStore, !directives.mustUnderstand { try hold(!storable, "no-store is kept") }
        guard storable, let selection = CacheSelection(head, []) else { return }
        let stored = StoredResponse(
            status: 200, headers: CacheRequest.kept(headers), requestTime: Self.now, responseTime: Self.now,
            selection: selection)
        try hold(selection.matches([]), "the request that brought it does not match")
        let bound = 0...CacheControl.longest
        try hold(bound.contains(stored.lifetime), "a lifetime of \(stored.lifetime)")
        for passed in [0, 1, 1 << 40] as [Int64] {
            let age = stored.age(at: Self.now + passed)
            try hold(bound.contains(age), "an age of \(age)")
            try hold(stored.isFresh(at: Self.now + passed) == (age < stored.lifetime), "freshness is another")
        }
        try hold(!stored.isFresh(at: Self.now - 1), "it is fresh before it came")
        for field in stored.validators {
            try hold(!field.value.utf8.contains { $0 < 32 && $0 != 9 || $0 == 127 }, "\(shown(field.value)) is sent")
        }
        if let text = stored.text {
            let back = StoredResponse(
                text: text, selection: selection.text, requestTime: Self.now, responseTime: Self.now)
            try hold(back == stored, "it is read as another")
        }
    }
}

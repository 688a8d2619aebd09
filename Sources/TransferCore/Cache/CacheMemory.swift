import TransferModel

/// A stored answer with its body.
package struct CachedAnswer: Sendable, Hashable {
    package var response: StoredResponse
    /// Without its content codings, if the daemon asked for them.
    package var body: [UInt8]
    /// As `CacheRequest.credentials`.
    package var credentials: String?
    /// A client has decided that it must not be written to disk.
    package var isMemoryOnly = false

    package init(response: StoredResponse, body: [UInt8], credentials: String? = nil) {
        self.response = response
        self.body = body
        self.credentials = credentials
    }

    /// Bytes that it counts with.
    package func size(_ url: String) -> Int {
        response.headers.reduce(Bounds.cacheOverhead + url.utf8.count + response.selection.text.utf8.count + body.count)
        {
            $0 + $1.name.utf8.count + $1.value.utf8.count + 4
        }
    }
}

/// The answers of one place that are in memory. When there is no room, the least recently used are removed.
package struct CacheMemory: Sendable {
    private struct Entry {
        var answer: CachedAnswer
        var size: Int
        /// Of its last use.
        var stamp: Int64
    }

    private var answers: [String: [Entry]] = [:]
    /// The URLs of uses, by their stamps; an answer may have been used again since.
    private var uses = TimeQueue<String>()
    private var stamp: Int64 = 0
    package private(set) var bytes = 0
    package private(set) var count = 0

    package init() {}

    /// The answer for a request, which counts as used.
    package mutating func find(_ request: CacheRequest) -> CachedAnswer? {
        guard let index = place(of: request) else { return nil }
        stamp += 1
        answers[request.url]?[index].stamp = stamp
        return answers[request.url]?[index].answer
    }

    private func place(of request: CacheRequest) -> Int? {
        guard let entries = answers[request.url] else { return nil }
        let own = entries.indices.filter { entries[$0].answer.credentials == request.credentials }
        return request.selected(of: own) { entries[$0].answer.response }
    }

    /// Whether there is an answer for the URL, whatever request it is for.
    package func has(_ url: String) -> Bool { answers[url] != nil }

    /// Keeps an answer in place of the one that the same requests had.
    /// - Parameter capacity: bytes; others give way.
    package mutating func put(_ answer: CachedAnswer, _ url: String, capacity: Int) {
        remove(url) { $0.response.selection == answer.response.selection && $0.credentials == answer.credentials }
        stamp += 1
        let entry = Entry(answer: answer, size: answer.size(url), stamp: stamp)
        answers[url, default: []].append(entry)
        count += 1
        bytes += entry.size
        uses.insert(url, at: stamp)
        if let entries = answers[url], entries.count > Bounds.cacheVariants, let oldest = entries.map(\.stamp).min() {
            drop(url) { $0.stamp == oldest }
        }
        while bytes > capacity, let use = uses.popFirst() { give(use.item, usedAt: use.time) }
        if uses.count > 2 * count + 64 { rebuild() }
    }

    /// Removes the answer if it was not used since then. Otherwise notes its newer use.
    private mutating func give(_ url: String, usedAt time: Int64) {
        guard let entries = answers[url] else { return }
        if entries.contains(where: { $0.stamp == time }) {
            drop(url) { $0.stamp == time }
        } else if let oldest = entries.map(\.stamp).min(), oldest > time {
            uses.insert(url, at: oldest)
        }
    }

    private mutating func rebuild() {
        uses = TimeQueue()
        for (url, entries) in answers { for entry in entries { uses.insert(url, at: entry.stamp) } }
    }

    /// - Returns: how many there were.
    @discardableResult
    package mutating func remove(_ url: String, _ isWanted: (CachedAnswer) -> Bool = { _ in true }) -> Int {
        drop(url) { isWanted($0.answer) }
    }

    /// Removes those stored at or after this, in seconds since 1970.
    /// - Returns: how many there were.
    package mutating func remove(since: Int64) -> Int {
        answers.keys.reduce(0) { $0 + remove($1) { $0.response.responseTime >= since } }
    }

    @discardableResult
    private mutating func drop(_ url: String, _ isWanted: (Entry) -> Bool) -> Int {
        guard var entries = answers[url] else { return 0 }
        let before = entries.count
        entries.removeAll { entry in
            guard isWanted(entry) else { return false }
            bytes -= entry.size
            count -= 1
            return true
        }
        answers[url] = entries.isEmpty ? nil : entries
        return before - entries.count
    }
}

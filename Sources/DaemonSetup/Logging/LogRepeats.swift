import Logging
import TransferCore
import TransferModel

/// What makes two log lines the same kind: what is said, at which level, and about whom.
package struct LogKind: Hashable, Sendable {
    package var level: Logger.Level
    package var message: String
    package var code: String?
    /// nil stands for every owner once too many kinds are known.
    package var owner: String?
    /// nil stands for every host once too many kinds are known.
    package var host: String?

    package init(
        level: Logger.Level, message: String, code: String? = nil, owner: String? = nil, host: String? = nil
    ) {
        self.level = level
        self.message = message
        self.code = code
        self.owner = owner
        self.host = host
    }

    /// Itself first, then what it is counted with if there is no room for it.
    fileprivate var levels: [LogKind] {
        var ofOwner = self
        ofOwner.host = nil
        var ofAll = ofOwner
        ofAll.owner = nil
        return [self, ofOwner, ofAll]
    }
}

/// Decides which log lines are written: of each kind the first few, then per window one as an example and a summary.
///
/// It remembers a bounded number of kinds, however many hosts and owners there are: `message` and `code` come from the
/// program, never from outside.
package struct LogRepeats: Sendable {
    /// Lines that were held back.
    package struct Summary: Hashable, Sendable {
        package var kind: LogKind
        /// Held back since the last summary; 0 when the storm is over.
        package var count: Int
        /// Of the whole storm, written lines included.
        package var total: Int
        /// When the first line of the storm came.
        package var since: Timestamp
        /// Whether a whole window passed without such a line.
        package var isOver: Bool
    }

    fileprivate struct Storm {
        var since: Timestamp
        /// Boot clock, milliseconds.
        var windowEnd: Int64
        var total = 0
        /// In this window.
        var written = 0
        /// In this window.
        var held = 0
        /// Whether lines were held back in a window before this one.
        var isKnown = false

        var isQuiet: Bool { held == 0 && !isKnown }

        func next(at boot: Int64) -> Storm {
            Storm(since: since, windowEnd: boot + LogRepeats.window, total: total, isKnown: true)
        }
    }

    /// Lines of one kind that are written before the rest is counted.
    package static let most = 10
    /// Milliseconds.
    package static let window: Int64 = 60_000
    /// Kinds with their host, and kinds of one owner, that are told apart.
    package static let mostKinds = 64

    /// By how much of the kind counts: all of it, without the host, without host and owner.
    private var storms: [[LogKind: Storm]] = [[:], [:], [:]]
    /// Boot clock; never later than the end of any window.
    private var nextLook = Int64.max

    package init() {}

    /// Kinds that are remembered.
    package var count: Int { storms.reduce(0) { $0 + $1.count } }

    /// Whether this line is written; otherwise it is counted.
    package mutating func admits(_ kind: LogKind, at now: ClockReading) -> Bool {
        for (place, kind) in kind.levels.enumerated() {
            var storm = storms[place][kind]
            if let known = storm, known.isQuiet, known.windowEnd <= now.boot { storm = nil }
            if storm == nil, !hasRoom(for: kind, in: place, at: now.boot) { continue }
            var current = storm ?? Storm(since: now.wall, windowEnd: now.boot + Self.window)
            current.total += 1
            let isWritten = current.written < (current.isKnown ? 1 : Self.most)
            if isWritten { current.written += 1 } else { current.held += 1 }
            storms[place][kind] = current
            nextLook = min(nextLook, current.windowEnd)
            return isWritten
        }
        return true
    }

    /// The summaries of windows that are over.
    package mutating func due(at boot: Int64) -> [Summary] {
        guard boot >= nextLook else { return [] }
        nextLook = .max
        var summaries: [Summary] = []
        for place in storms.indices {
            for (kind, storm) in storms[place] {
                var left: Storm? = storm
                if storm.windowEnd <= boot {
                    let isOver = storm.held == 0 && storm.written == 0
                    if storm.held > 0 || isOver { summaries.append(Summary(kind, storm)) }
                    left = storm.isQuiet || isOver ? nil : storm.next(at: boot)
                    storms[place][kind] = left
                }
                if let left { nextLook = min(nextLook, left.windowEnd) }
            }
        }
        return summaries.inOrder
    }

    /// Everything that was held back and not told, for the end of the process.
    package mutating func all() -> [Summary] {
        defer { self = LogRepeats() }
        return storms.joined().filter { $0.value.held > 0 }.map { Summary($0.key, $0.value) }.inOrder
    }

    /// The last place takes every kind: the program has few messages and codes.
    private mutating func hasRoom(for kind: LogKind, in place: Int, at boot: Int64) -> Bool {
        guard place < storms.count - 1, storms[place][kind] == nil, storms[place].count >= Self.mostKinds else {
            return true
        }
        // Nothing can have become quiet before a window is over.
        guard boot >= nextLook else { return false }
        storms[place] = storms[place].filter { !$0.value.isQuiet || $0.value.windowEnd > boot }
        return storms[place].count < Self.mostKinds
    }
}

extension LogRepeats.Summary {
    fileprivate init(_ kind: LogKind, _ storm: LogRepeats.Storm) {
        self.init(
            kind: kind, count: storm.held, total: storm.total, since: storm.since,
            isOver: storm.held == 0 && storm.written == 0)
    }
}

extension [LogRepeats.Summary] {
    fileprivate var inOrder: Self { sorted { ($0.since, $0.kind.message) < ($1.since, $1.kind.message) } }
}

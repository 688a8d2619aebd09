import Logging
import TransferCore
import TransferModel

/// Two log lines are of the same kind if message, level, code, owner and host are the same.
package struct LogKind: Hashable, Sendable {
    package var level: Logger.Level
    package var message: String
    package var code: String?
    /// nil stands for all owners, if too many kinds are known.
    package var owner: String?
    /// nil stands for all hosts, if too many kinds are known.
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

    /// The kind itself, then the wider kinds with which it is counted if there is no room for it.
    fileprivate var levels: [LogKind] {
        var ofOwner = self
        ofOwner.host = nil
        var ofAll = ofOwner
        ofAll.owner = nil
        return [self, ofOwner, ofAll]
    }
}

/// Decides which log lines are written: the first few of each kind, and after that one example and a summary per
/// window.
///
/// The number of kinds that it remembers is limited, no matter how many hosts and owners there are. `message` and
/// `code` come from the program, never from outside.
package struct LogRepeats: Sendable {
    /// Lines that were held back.
    package struct Summary: Hashable, Sendable {
        package var kind: LogKind
        /// The lines held back since the last summary; 0 when no more lines come.
        package var count: Int
        /// All lines since `since`, including written ones.
        package var total: Int
        /// When the first of these lines came.
        package var since: Timestamp
        /// Whether a whole window passed without such a line.
        package var isOver: Bool
    }

    fileprivate struct Storm {
        var since: Timestamp
        /// The end of the window, in milliseconds of the boot clock.
        var windowEnd: Int64
        var total = 0
        /// The lines written in this window.
        var written = 0
        /// The lines held back in this window.
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
    /// The length of a window in milliseconds.
    package static let window: Int64 = 60_000
    /// The most kinds with a host, and the most kinds with an owner only, that are counted separately.
    package static let mostKinds = 64

    /// One table each for complete kinds, kinds without the host, and kinds without host and owner.
    private var storms: [[LogKind: Storm]] = [[:], [:], [:]]
    /// The next time to check, on the boot clock; never later than the end of any window.
    private var nextLook = Int64.max

    package init() {}

    /// The number of kinds that are remembered.
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

    /// The summaries of all lines that were held back and not yet reported, for the end of the process.
    package mutating func all() -> [Summary] {
        defer { self = LogRepeats() }
        return storms.joined().filter { $0.value.held > 0 }.map { Summary($0.key, $0.value) }.inOrder
    }

    /// Whether the table has room for another kind. The last table always has, because the program has few messages and
    /// codes.
    private mutating func hasRoom(for kind: LogKind, in place: Int, at boot: Int64) -> Bool {
        guard place < storms.count - 1, storms[place][kind] == nil, storms[place].count >= Self.mostKinds else {
            return true
        }
        // No kind can be forgotten before a window is over.
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

import ArgumentParser
import TransferModel

/// `7` or `3-7` on the command line.
struct TaskArgument: ExpressibleByArgument, Hashable {
    var ids: ClosedRange<TaskID>
    /// Written as a range, in which missing tasks are not a mistake.
    var isRange: Bool

    init?(argument: String) {
        let ends = argument.split(separator: "-", omittingEmptySubsequences: false).map { TaskID(argument: String($0)) }
        guard (1...2).contains(ends.count), let first = ends[0], let last = ends[ends.count - 1], first <= last else {
            return nil
        }
        ids = first...last
        isRange = ends.count == 2
    }
}

/// The tasks that the command line names, each once, in the order of the command line.
struct TaskChoice: Hashable {
    enum Piece: Hashable {
        case task(TaskID)
        case range(ClosedRange<TaskID>)
    }

    private(set) var pieces: [Piece] = []

    init(_ arguments: [TaskArgument]) {
        let ranges = TaskRanges(arguments.filter(\.isRange).map(\.ids))
        var seen: Set<Piece> = []
        for argument in arguments {
            let piece = ranges.around(argument.ids.lowerBound).map(Piece.range) ?? .task(argument.ids.lowerBound)
            if seen.insert(piece).inserted { pieces.append(piece) }
        }
    }

    /// The ids that are named individually.
    var ids: [TaskID] { pieces.compactMap { if case .task(let id) = $0 { id } else { nil } } }
    var ranges: [ClosedRange<TaskID>] { pieces.compactMap { if case .range(let range) = $0 { range } else { nil } } }

    /// The only task; nil for several tasks and for a range.
    var single: TaskID? {
        if pieces.count == 1, case .task(let id) = pieces[0] { id } else { nil }
    }

    /// Every id; nil if there are more than `limit`.
    func allIDs(atMost limit: Int) -> [TaskID]? {
        let count = ranges.reduce(Double(ids.count)) {
            $0 + Double($1.upperBound.rawValue) - Double($1.lowerBound.rawValue) + 1
        }
        guard count <= Double(limit) else { return nil }
        return ids + ranges.flatMap { ($0.lowerBound.rawValue...$0.upperBound.rawValue).map { TaskID($0) } }
    }
}

/// Ids as ascending ranges that neither overlap nor touch.
struct TaskRanges: Hashable {
    private(set) var ranges: [ClosedRange<TaskID>] = []

    init() {}

    init(_ ranges: [ClosedRange<TaskID>]) {
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) { append(range) }
    }

    init(_ ids: [TaskID]) {
        for id in ids.sorted() { append(id...id) }
    }

    /// - Parameter range: must not begin before the last one.
    mutating func append(_ range: ClosedRange<TaskID>) {
        if let last = ranges.last, last.upperBound.rawValue >= range.lowerBound.rawValue - 1 {
            ranges[ranges.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
        } else {
            ranges.append(range)
        }
    }

    mutating func append(_ others: TaskRanges) { others.ranges.forEach { append($0) } }

    var isEmpty: Bool { ranges.isEmpty }

    func around(_ id: TaskID) -> ClosedRange<TaskID>? { ranges.first { $0.contains(id) } }

    /// The ids of `whole` that are not in these ranges.
    func gaps(in whole: ClosedRange<TaskID>) -> TaskRanges {
        var gaps = TaskRanges()
        var next = whole.lowerBound.rawValue
        for range in ranges where range.overlaps(whole) {
            if next < range.lowerBound.rawValue {
                gaps.append(TaskID(next)...TaskID(range.lowerBound.rawValue - 1))
            }
            if range.upperBound >= whole.upperBound { return gaps }
            next = range.upperBound.rawValue + 1
        }
        gaps.append(TaskID(next)...whole.upperBound)
        return gaps
    }

    private var firstTen: [String] {
        ranges.prefix(10).map { $0.lowerBound == $0.upperBound ? "\($0.lowerBound)" : Self.text($0) }
    }

    /// `3-5, 9`. After ten ranges, the rest is only counted.
    var text: String {
        firstTen.joined(separator: ", ") + (ranges.count > 10 ? " and \(ranges.count - 10) more ranges" : "")
    }

    /// `3-5 9`, as arguments of a command; an ellipsis stands for all after ten ranges.
    var arguments: String { (firstTen + (ranges.count > 10 ? ["…"] : [])).joined(separator: " ") }

    static func text(_ range: ClosedRange<TaskID>) -> String { "\(range.lowerBound)-\(range.upperBound)" }
}

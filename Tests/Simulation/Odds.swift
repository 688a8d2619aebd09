import FileKit
import TestSupport

/// How often what happens in a world, drawn once for each: some have much of one thing and nothing of another, which brings
/// about what a mean world never sees.
struct Odds {
    enum Happening { case crash, client, clock, disk, version, subscriber, volatile }

    private let bounds: [(Happening, below: Int)]
    /// Of 1,000 resources: many in some worlds, few in most.
    struct Traits {
        var sick: Int
        var slow: Int
    }
    let traits: Traits
    /// Of 1,000 things that a client does.
    let resumeData: Int
    let sessionEnd: Int
    let sessionPause: Int
    let update: Int
    /// Of 1,000 things that a client does, where it has looked for questions.
    let answer: Int

    private static let range = 1600

    init(_ random: inout SeededGenerator) {
        /// One that is drawn mostly, or another.
        func often(_ usual: Int, _ others: [Int]) -> Int {
            random.chance(600) ? usual : others[random.below(others.count)]
        }
        var sum = 0
        bounds = [
            (Happening.crash, often(4, [0, 2, 10])), (.client, often(36, [12, 80])), (.clock, often(2, [0, 8])),
            (.disk, often(3, [0, 12])), (.version, often(6, [0, 20])), (.subscriber, often(44, [0, 16, 80])),
            (.volatile, often(40, [0, 120])),
        ].map { happening, weight in
            sum += weight
            return (happening, sum)
        }
        resumeData = often(100, [0, 400])
        sessionEnd = often(60, [0, 200])
        sessionPause = often(60, [0, 300])
        traits = Traits(sick: often(50, [0, 400]), slow: often(50, [0, 700]))
        update = often(150, [0, 500])
        answer = often(300, [0, 700])
    }

    /// nil: whatever is due.
    func draw(_ random: inout SeededGenerator) -> Happening? {
        let number = random.below(Self.range)
        return bounds.first { number < $0.below }?.0
    }
}

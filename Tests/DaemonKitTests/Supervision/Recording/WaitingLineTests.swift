import Testing

@testable import DaemonKit

struct WaitingLineTests {
    @Test func whoComesFirstTakesAndTakesWhatComesMeanwhile() {
        var line = WaitingLine<Int>()
        var isToTake = [1, 2].map { line.add($0) }
        var taken = [line.take(atMost: 9)]
        isToTake.append(line.add(3))
        taken.append(line.take(atMost: 9))
        taken.append(line.take(atMost: 9))
        isToTake.append(line.add(4))
        #expect(isToTake == [true, false, false, true])
        #expect(taken == [[1, 2], [3], nil])
    }

    @Test func soManyAreTakenAtATimeInTheirOrder() {
        var line = WaitingLine<Int>()
        for number in 1...5 { _ = line.add(number) }
        let taken = (1...4).map { _ in line.take(atMost: 2) }
        #expect(taken == [[1, 2], [3, 4], [5], nil])
    }
}

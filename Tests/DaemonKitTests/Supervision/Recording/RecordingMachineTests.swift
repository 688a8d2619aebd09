import Testing
import TransferCore
import TransferModel

@testable import DaemonKit

/// What is stored of a run, and when.
struct RecordingMachineTests {
    private typealias Machine = RecordingMachine<Int>

    private static func checkpoint(_ offset: Int64) -> Checkpoint {
        Checkpoint(offset: ByteCount(offset), total: 9, partPath: "/d/.part", device: 1, inode: 2)
    }

    private static let record = TaskRecord(
        id: TaskID(1), session: .shared(of: UserID(0)), spec: TaskSpec(),
        status: TaskStatus(state: .running, createdAt: Timestamp(milliseconds: 0)), host: "h", position: 0)
    private static let redirect = Machine.Event.observed(.redirected(to: "http://h/g", status: 302))

    private func text(_ actions: [Machine.Action]) -> [String] {
        actions.map { action in
            switch action {
            case .storeNotes: "store notes"
            case .storeCheckpoint: "store checkpoint"
            case .store(let batch): "store \(text(batch))"
            case .closed(let batch): "closed \(text(batch))"
            }
        }
    }

    /// The notes of a batch, one word each; a checkpoint by its offset.
    private func text(_ batch: Machine.Batch) -> String {
        let notes = batch.notes.map { note in
            switch note {
            case .redirected: "redirected"
            case .responded: "responded"
            case .reachedFile: "reached"
            case .checkpoint: batch.checkpoint.map { "@\($0.offset.rawValue)" } ?? "@none"
            case .uploaded: "uploaded"
            case .restarting: "restarting"
            }
        }
        return ((batch.earlier == nil ? [] : ["earlier"]) + notes).joined(separator: " ")
    }

    private func machine(_ events: [Machine.Event], known: Checkpoint? = nil) -> Machine {
        var machine = Machine(known: known)
        for event in events { _ = machine.handle(event) }
        return machine
    }

    // MARK: Notes

    @Test func notesOfAnExchangeThatIsOverAtOnceGoWithTheEnd() {
        var machine = machine([])
        #expect(machine.handle(Self.redirect).isEmpty)
        #expect(machine.handle(Self.redirect).isEmpty)
        #expect(text(machine.handle(.close)) == ["closed redirected redirected"])
    }

    @Test func notesAreStoredAsTheyComeOnceTheExchangeLingers() {
        var machine = machine([Self.redirect])
        #expect(text(machine.handle(.lingers)) == ["store notes"])
        #expect(machine.handle(Self.redirect).isEmpty, "one batch at a time")
        #expect(text(machine.handle(.mayStore)) == ["store redirected redirected"])
        #expect(machine.handle(Self.redirect).isEmpty)
        #expect(text(machine.handle(.stored(nil))) == ["store redirected"])
        #expect(machine.handle(.stored(nil)).isEmpty)
        #expect(machine.work == .nothing)
        #expect(text(machine.handle(Self.redirect)) == ["store notes"])
    }

    @Test func nothingIsStoredOfAnExchangeThatOnlyLingers() {
        var machine = machine([])
        #expect(machine.handle(.lingers).isEmpty)
        #expect(text(machine.handle(.close)) == ["closed "])
    }

    @Test func whatOthersWaitForIsUrgent() {
        for event in [
            Machine.Event.observed(.reachedFile(Self.checkpoint(0), 7), isUrgent: true),
            .restarting(Self.checkpoint(0), 7),
        ] {
            var machine = machine([Self.redirect])
            #expect(text(machine.handle(event)) == ["store notes"])
            guard case .store(let batch)? = machine.handle(.mayStore).first else {
                Issue.record("nothing is stored")
                continue
            }
            #expect(batch.notes.compactMap(\.ticket) == [7])
        }
    }

    // MARK: Checkpoints

    @Test func aCheckpointAloneGoesWithThoseOfOthers() {
        var machine = machine([])
        #expect(text(machine.handle(.checkpointed(Self.checkpoint(3)))) == ["store checkpoint"])
        #expect(machine.handle(.checkpointed(Self.checkpoint(4))).isEmpty)
        #expect(machine.takeCheckpoint() == Self.checkpoint(4), "only the last one matters")
        #expect(machine.takeCheckpoint() == nil)
        #expect(machine.handle(.checkpointStored(true)).isEmpty)
        #expect(machine.known == Self.checkpoint(4))
        #expect(machine.work == .nothing)
    }

    @Test func oneThatComesMeanwhileFollows() {
        var machine = machine([.checkpointed(Self.checkpoint(3))])
        #expect(machine.takeCheckpoint() == Self.checkpoint(3))
        #expect(machine.handle(.checkpointed(Self.checkpoint(4))).isEmpty)
        #expect(text(machine.handle(.checkpointStored(true))) == ["store checkpoint"])
        #expect(machine.takeCheckpoint() == Self.checkpoint(4))
    }

    @Test func withNotesItIsStoredAmongThem() {
        var machine = machine([.checkpointed(Self.checkpoint(3)), Self.redirect])
        _ = machine.takeCheckpoint()
        _ = machine.handle(.checkpointed(Self.checkpoint(4)))
        #expect(text(machine.handle(.checkpointStored(true))) == ["store notes"])
        #expect(text(machine.handle(.mayStore)) == ["store redirected @4"])
        #expect(machine.handle(.stored(Self.checkpoint(4))).isEmpty)
        #expect(machine.known == Self.checkpoint(4))
    }

    @Test func whatTheStoreHasAlreadyIsNotStoredAgain() {
        var machine = machine([], known: Self.checkpoint(0))
        #expect(machine.handle(.checkpointed(Self.checkpoint(0))).isEmpty)
        #expect(machine.latest == nil)
    }

    @Test func aRestartDropsWhatWasHeld() {
        var machine = machine([.lingers, Self.redirect, .checkpointed(Self.checkpoint(3))])
        #expect(machine.handle(.restarting(Self.checkpoint(0), 1)).isEmpty, "a batch is due already")
        #expect(text(machine.handle(.mayStore)) == ["store redirected @none restarting"])
        var alone = self.machine([.checkpointed(Self.checkpoint(3))])
        _ = alone.handle(.restarting(Self.checkpoint(0), 1))
        #expect(alone.takeCheckpoint() == nil)
    }

    // MARK: A store that fails

    @Test func whatTheStoreDidNotTakeComesFirst() {
        var machine = machine([.lingers, Self.redirect, .mayStore, Self.redirect])
        let lost = PendingNotes(record: Self.record, time: nil)
        #expect(text(machine.handle(.notStored(lost))) == ["store earlier redirected"])
        #expect(machine.handle(.stored(nil)).isEmpty)
        #expect(machine.unstored == nil)
        machine.putBack(lost)
        #expect(text(machine.handle(.close)) == ["closed earlier"])
    }

    @Test func aLostCheckpointGoesWithTheEnd() {
        var machine = machine([.checkpointed(Self.checkpoint(3))])
        _ = machine.takeCheckpoint()
        #expect(machine.handle(.checkpointStored(false)).isEmpty)
        #expect(machine.known == nil)
        #expect(text(machine.handle(.close)) == ["closed @3"])
    }

    @Test func aLaterCheckpointCoversALostOne() {
        for cover in [Machine.Event.stored(Self.checkpoint(4)), .replaced(Self.checkpoint(4)), .replaced(nil)] {
            var machine = machine([.checkpointed(Self.checkpoint(3))])
            _ = machine.takeCheckpoint()
            _ = machine.handle(.checkpointStored(false))
            _ = machine.handle(cover)
            #expect(text(machine.handle(.close)) == ["closed "])
        }
    }

    // MARK: The end

    @Test func theEndWaitsForWhatIsOnItsWay() {
        var notes = machine([.lingers, Self.redirect, .mayStore])
        #expect(notes.handle(.close).isEmpty)
        #expect(text(notes.handle(.stored(nil))) == ["closed "])
        var checkpoint = machine([.checkpointed(Self.checkpoint(3))])
        #expect(checkpoint.handle(.close).isEmpty)
        _ = checkpoint.takeCheckpoint()
        #expect(text(checkpoint.handle(.checkpointStored(true))) == ["closed "])
    }

    /// All events in any order: one thing is being stored at a time, nothing urgent waits, and nothing is lost.
    @Test func everyEventInEveryOrder() {
        let events: [Machine.Event] = [
            Self.redirect, .observed(.reachedFile(Self.checkpoint(0), 1), isUrgent: true), .lingers,
            .checkpointed(Self.checkpoint(3)), .checkpointed(Self.checkpoint(4)),
            .restarting(Self.checkpoint(0), 2), .replaced(nil), .close,
        ]
        for first in events {
            for second in events {
                for third in events {
                    for storeFails in [false, true] { play([first, second, third], storeFails: storeFails) }
                }
            }
        }
    }

    private func play(_ events: [Machine.Event], storeFails: Bool) {
        var (machine, due) = (Machine(known: nil), [Machine.Action]())
        var (given, kept, isClosed) = (0, 0, false)
        for event in events {
            if isClosed { break }
            switch event {
            case .observed, .restarting: given += 1
            case .close: isClosed = true
            default: break
            }
            due += machine.handle(event)
            #expect(due.count <= 1, "\(events)")
            if machine.isUrgent, !machine.notes.isEmpty { #expect(machine.work != .nothing, "\(events)") }
        }
        if !isClosed { due += machine.handle(.close) }
        var (steps, ends) = (0, 0)
        while let action = due.popLast(), steps < 20 {
            steps += 1
            switch action {
            case .storeNotes: due += machine.handle(.mayStore)
            case .storeCheckpoint:
                _ = machine.takeCheckpoint()
                due += machine.handle(.checkpointStored(!storeFails))
            case .store(let batch):
                kept += noted(batch)
                due += machine.handle(
                    storeFails && steps < 10
                        ? .notStored(PendingNotes(record: Self.record, time: nil)) : .stored(batch.checkpoint))
            case .closed(let batch):
                kept += noted(batch)
                ends += 1
            }
        }
        #expect(ends == 1, "\(events)")
        #expect(kept == given, "\(events)")
        #expect(machine.work == .nothing && machine.notes.isEmpty, "\(events)")
    }

    private func noted(_ batch: Machine.Batch) -> Int {
        batch.notes.count { if case .checkpoint = $0 { false } else { true } }
    }
}

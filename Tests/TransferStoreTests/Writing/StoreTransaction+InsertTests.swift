import Testing
import TransferModel

@testable import TransferStore

struct StoreTransactionInsertTests {
    @Test func manyTasksAreStoredAsOneByOne() async throws {
        let fixture = Fixture()
        let store = try fixture.open()
        let states = TaskState.allCases
        let new = (0..<150).map { index in
            var task = newTask(
                states[index % states.count], owner: index % 5 == 0 ? bob : alice, host: "https://h\(index % 4):443",
                url: "https://h\(index % 4)/\(index)", priority: index % 3 == 0 ? 0.75 : nil)
            task.spec.description = index % 2 == 0 ? "d\(index)" : nil
            task.spec.clientToken = index % 10 == 0 ? "token \(index)" : nil
            task.destinationDevice = index % 7 == 0 ? UInt64.max : nil
            return task
        }
        let ids = try await store.write { try $0.insert(new) }
        #expect(ids == (1...150).map { TaskID($0) })
        let single = try await store.write { transaction in try new.map { try transaction.insert($0).id } }
        #expect(single == (151...300).map { TaskID($0) })
        let (many, one) = try await store.read { (try $0.tasks(ids), try $0.tasks(single)) }
        for (a, b) in zip(many, one) {
            var b = b
            b.id = a.id
            b.position = a.position
            #expect(a == b)
        }
        let token = try await store.read {
            try $0.use(ofToken: "token 10", owner: bob, notBefore: epoch)
        }
        #expect(token?.task == single[10])
    }

    @Test func aSpecThatWasWrittenBeforeIsKeptAsItIs() async throws {
        let fixture = Fixture()
        let store = try fixture.open()
        var task = newTask()
        task.specText = JSONColumn.encode(task.spec)
        let stored = try await store.write { [task] in try $0.insert(task) }
        #expect(try await store.read { try $0.task(stored.id) } == stored)
    }

    @Test func oneThatCannotBeStoredTakesAllWithIt() async throws {
        let fixture = Fixture()
        let store = try fixture.open()
        var bad = newTask()
        bad.spec.priority = TaskPriority(2)
        let batch = Array(repeating: newTask(), count: 100) + [bad]
        await #expect(throws: TransferError.self) { try await store.write { try $0.insert(batch) } }
        await #expect(throws: TransferError.self) {
            try await store.write { try $0.insert([newTask(), newTask(session: "nobody's")]) }
        }
        let ids = try await store.write { try $0.insert([newTask()]) }
        // The ids that the failed batches used are free again.
        #expect(ids == [TaskID(1)])
        #expect(try await store.read { try $0.counts()[.queued] } == 1)
    }

    @Test func manyEventsHaveNumbersWithoutAHole() async throws {
        let fixture = Fixture()
        let store = try fixture.open()
        let last = try await store.write { transaction in
            try transaction.append(event(.taskAdded))
            return try transaction.append(
                (1...100).map { index in
                    var one = event(index % 2 == 0 ? .taskAdded : .taskPaused, task: TaskID(Int64(index)))
                    one.payload = index % 3 == 0 ? [:] : ["state": .string(index % 3 == 1 ? "queued" : "paused")]
                    return one
                })
        }
        #expect(last == SequenceNumber(101))
        let events = try await store.read { try $0.events(EventQuery(limit: 1000)) }
        #expect(events.map(\.sequence?.rawValue) == (1...101).map(Int64.init))
        for (index, event) in events.dropFirst().enumerated() {
            let number = index + 1
            #expect(event.task == TaskID(Int64(number)))
            #expect(
                event.payload == (number % 3 == 0 ? [:] : ["state": .string(number % 3 == 1 ? "queued" : "paused")]))
        }
        #expect(try await store.write { try $0.append([EventRecord]()) } == last)
    }
}

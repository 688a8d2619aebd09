import Testing
import TransferModel
import TransferRPC

@testable import dlctl

@Suite struct ListCommandTests {
    @Test func aTaskThatEndsMeanwhileComesOnceWithItsNewestState() async throws {
        let daemon = ScriptedDaemon(tasks: [Sample.view(1, .completed), Sample.view(2), Sample.view(3)])
        daemon.setAfterList(Sample.view(2, .completed))
        let command = try ListCommand.parse([])
        let tasks = try await command.present(ListTasks.Parameters(), daemon)
        #expect(tasks.map(\.id).sorted() == [TaskID(1), TaskID(2), TaskID(3)])
        #expect(tasks.first { $0.id == TaskID(2) }?.state == .completed)
        #expect(tasks.first { $0.id == TaskID(3) }?.state == .running)
    }
}

import TransferModel
import TransferStore

/// Compares the stored exchanges with the exchanges that happened: each occurs once, in order, with its own task.
struct MetricsChecker {
    /// The task of each exchange. The index is the number of the exchange, which is the time of its entry.
    private var tasks: [TaskID] = []

    /// An exchange has ended.
    /// - Returns: Its number.
    mutating func add(_ task: TaskID) -> Int64 {
        tasks.append(task)
        return Int64(tasks.count - 1)
    }

    /// The exchanges of attempts that died with a daemon are lost.
    func check(_ task: TaskID, _ snapshot: StoreSnapshot) throws {
        let metrics = try snapshot.metrics(of: task)
        let numbers = metrics.entries.map(\.fetchStart)
        for number in numbers where tasks[Int(number)] != task {
            throw Violation("task \(task) has the metrics of an exchange of task \(tasks[Int(number)])")
        }
        for (number, next) in zip(numbers, numbers.dropFirst()) where next <= number {
            throw Violation("task \(task) has the metrics of an exchange twice, or in another order")
        }
        let count = tasks.count { $0 == task }
        if numbers.count + metrics.dropped > count {
            throw Violation("task \(task) has more metrics than the \(count) exchanges that there were")
        }
    }
}

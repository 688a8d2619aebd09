import TransferNetworking

/// Downloads in the background: the daemon goes on when this program is killed, and tells the next one.
///
///     background IDENTIFIER URL FILE    begins the download, unless an earlier run has begun it
///     background IDENTIFIER FILE        takes what earlier runs have begun
///
/// With --launch before the identifier, the daemon starts this program, with the same arguments, when there is news and it
/// does not run.
@main struct Background {
    static func main() async throws {
        var arguments = Array(CommandLine.arguments.dropFirst())
        let launches = arguments.first == "--launch"
        if launches { arguments.removeFirst() }
        guard (2...3).contains(arguments.count), let file = arguments.last else {
            say("usage: background [--launch] IDENTIFIER [URL] FILE")
            exit(2)
        }
        let keeper = Keeper(file: URL(fileURLWithPath: file))
        let configuration = URLSessionConfiguration.background(withIdentifier: arguments[0])
        configuration.sessionSendsLaunchEvents = launches
        let session = URLSession(configuration: configuration, delegate: keeper, delegateQueue: nil)
        // A download may have ended while no program ran: its file is offered first.
        await keeper.hearsEarlierEvents()
        let known = await session.allTasks
        for task in known { say("known \(task.taskIdentifier) \(task.originalRequest?.url?.absoluteString ?? "-")") }
        if !known.isEmpty {
            say("waits")
        } else if FileManager.default.fileExists(atPath: file) || arguments.count == 2 {
            say("nothing to do")
            session.finishTasksAndInvalidate()
        } else if let url = URL(string: arguments[1]) {
            let task = session.downloadTask(with: url)
            say("begins \(task.taskIdentifier)")
            task.resume()
        } else {
            say("no URL: \(arguments[1])")
            exit(2)
        }
        await keeper.ends()
    }
}

final class Keeper: NSObject, URLSessionDownloadDelegate, @unchecked Sendable {
    private let file: URL
    private let (ended, end) = AsyncStream<Void>.makeStream()
    private let (heard, hear) = AsyncStream<Void>.makeStream()

    init(file: URL) { self.file = file }

    func ends() async { for await _ in ended { return } }
    func hearsEarlierEvents() async { for await _ in heard { return } }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        say("offered \(downloadTask.taskIdentifier)")
        do {
            try FileManager.default.moveItem(at: location, to: file)
            say("taken")
        } catch {
            say("not taken: \(error)")
        }
    }
    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        say("written \(totalBytesWritten)")
    }
    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        say("complete \((error as? URLError)?.code.rawValue ?? 0)")
        // Another process has the session: it is invalid already.
        if (error as? URLError)?.code == .backgroundSessionInUseByAnotherProcess { end.finish() }
        // The program ends when the daemon knows that it was told.
        session.finishTasksAndInvalidate()
    }
    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        say("invalid \((error as? URLError)?.code.rawValue ?? 0)")
        hear.finish()
        if error == nil { end.finish() }
    }
    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
        say("events")
        hear.finish()
    }
}

/// Writes a line at once: the program may be killed.
func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

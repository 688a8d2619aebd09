import TransferNetworking

/// Downloads in the background: the daemon goes on when this program is killed, and tells the next one.
///
///     background IDENTIFIER URL FILE    begins the download, unless an earlier run has begun it
///     background IDENTIFIER FILE        takes what earlier runs have begun
@main struct Background {
    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard (2...3).contains(arguments.count), let file = arguments.last else {
            say("usage: background IDENTIFIER [URL] FILE")
            exit(2)
        }
        let keeper = Keeper(file: URL(fileURLWithPath: file))
        let configuration = URLSessionConfiguration.background(withIdentifier: arguments[0])
        let session = URLSession(configuration: configuration, delegate: keeper, delegateQueue: nil)
        let known = await session.allTasks
        for task in known { say("known \(task.taskIdentifier) \(task.originalRequest?.url?.absoluteString ?? "-")") }
        if arguments.count == 3, known.isEmpty, !FileManager.default.fileExists(atPath: file) {
            guard let url = URL(string: arguments[1]) else {
                say("no URL: \(arguments[1])")
                exit(2)
            }
            let task = session.downloadTask(with: url)
            say("begins \(task.taskIdentifier)")
            task.resume()
        }
        await keeper.ends()
    }
}

final class Keeper: NSObject, URLSessionDownloadDelegate, @unchecked Sendable {
    private let file: URL
    private let (ended, end) = AsyncStream<Void>.makeStream()

    init(file: URL) { self.file = file }

    func ends() async { for await _ in ended { return } }

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
        // The program ends when the daemon knows that it was told.
        session.finishTasksAndInvalidate()
    }
    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        say("invalid")
        end.finish()
    }
    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) { say("events") }
}

/// Writes a line at once: the program may be killed.
func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

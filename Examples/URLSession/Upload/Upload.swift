import TransferNetworking

/// Uploads a file in the background, and shows how far it is.
///
///     upload FILE URL
@main struct Upload {
    static func main() async throws {
        guard CommandLine.arguments.count == 3, let url = URL(string: CommandLine.arguments[2]) else {
            print("usage: upload FILE URL")
            exit(2)
        }
        let progress = UploadProgress()
        let configuration = URLSessionConfiguration.background(withIdentifier: "upload-\(UUID().uuidString)")
        let session = URLSession(configuration: configuration, delegate: progress, delegateQueue: nil)
        var request = URLRequest(url: url)
        request.httpMethod = "PUT"
        session.uploadTask(with: request, fromFile: URL(fileURLWithPath: CommandLine.arguments[1])).resume()
        session.finishTasksAndInvalidate()
        exit(await progress.ends() ? 0 : 1)
    }
}

final class UploadProgress: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private let (results, result) = AsyncStream<Bool>.makeStream()
    private var hasFailed = false

    func ends() async -> Bool {
        for await result in results { return result }
        return false
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        print("sent \(totalBytesSent) of \(totalBytesExpectedToSend)")
    }
    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let status = (task.response as? HTTPURLResponse)?.statusCode ?? 0
        print("complete \(error.map { "\($0)" } ?? "\(status)")")
        hasFailed = error != nil || !(200..<300).contains(status)
    }
    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) { result.yield(!hasFailed) }
}

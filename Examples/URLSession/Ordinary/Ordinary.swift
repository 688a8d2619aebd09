import Foundation

#if FOUNDATION_NETWORKING
    import FoundationNetworking
#else
    import TransferNetworking
#endif

/// One page of ordinary URLSession code. It compiles unchanged against FoundationNetworking (with `-D FOUNDATION_NETWORKING`)
/// and against TransferNetworking.
///
///     ordinary http://127.0.0.1:8080
@main struct Ordinary {
    static func main() async throws {
        guard CommandLine.arguments.count == 2, let base = URL(string: CommandLine.arguments[1]) else {
            print("usage: ordinary BASE-URL")
            exit(2)
        }
        // A completion handler.
        let (status, size) = await withCheckedContinuation { done in
            URLSession.shared.dataTask(with: base.appendingPathComponent("data")) { data, response, _ in
                done.resume(returning: ((response as? HTTPURLResponse)?.statusCode ?? 0, data?.count ?? 0))
            }.resume()
        }
        print("data \(status) \(size)")

        // Asynchronous forms.
        let (data, response) = try await URLSession.shared.data(from: base.appendingPathComponent("data"))
        print("async \((response as? HTTPURLResponse)?.statusCode ?? 0) \(data.count)")
        var post = URLRequest(url: base.appendingPathComponent("echo"))
        post.httpMethod = "POST"
        let (echo, _) = try await URLSession.shared.upload(for: post, from: Data("hello".utf8))
        print("upload \(String(decoding: echo, as: UTF8.self))")
        let (file, _) = try await URLSession.shared.download(from: base.appendingPathComponent("data"))
        print("download \(try Data(contentsOf: file).count)")
        try FileManager.default.removeItem(at: file)

        // A delegate: authentication, a redirect, and every message.
        let delegate = Delegate()
        let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
        session.dataTask(with: base.appendingPathComponent("private")).resume()
        await delegate.wait()
        session.dataTask(with: base.appendingPathComponent("moved")).resume()
        await delegate.wait()

        // Cookies.
        let cookies = URLSessionConfiguration.ephemeral
        let jar = URLSession(configuration: cookies)
        _ = try await jar.data(from: base.appendingPathComponent("cookie"))
        let (sent, _) = try await jar.data(from: base.appendingPathComponent("cookies"))
        print("cookies \(String(decoding: sent, as: UTF8.self))")

        // Errors.
        do {
            _ = try await URLSession.shared.data(from: URL(string: "http://127.0.0.1:1/")!)
        } catch let error as URLError {
            print("error \(error.code.rawValue)")
        }
        session.finishTasksAndInvalidate()
        await delegate.wait()
    }
}

final class Delegate: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    func wait() async {
        await withCheckedContinuation { done in
            DispatchQueue.global().async {
                self.semaphore.wait()
                done.resume()
            }
        }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        print("challenge \(challenge.protectionSpace.realm ?? "-") \(challenge.previousFailureCount)")
        completionHandler(.useCredential, URLCredential(user: "anna", password: "secret", persistence: .forSession))
    }
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        print("redirect \(response.statusCode) \(request.url?.path ?? "-")")
        completionHandler(request)
    }
    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        print("response \((response as? HTTPURLResponse)?.statusCode ?? 0)")
        completionHandler(.allow)
    }
    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        print("bytes \(data.count)")
    }
    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        print("complete \(error == nil)")
        semaphore.signal()
    }
    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        print("invalid")
        semaphore.signal()
    }
}

import Foundation
import TestSupport
import Testing
import Threading
import TransferNetworking

extension TransferNetworkingSuite {
    /// The steps of the life cycle (Sources/TransferNetworking/Documentation.docc/LifeCycle.md) that no other test takes.
    @Suite struct LifeCycleTests {
        private let resource = Resource.version(9, size: 300_000)

        @Test func aSessionKeepsTheConfigurationThatItWasMadeWith() async throws {
            let scene = try await LibraryScene()
            scene.origin.serve("/a", .choose { .status(200, body: $0.header("X-Own") ?? "-") })
            let configuration = scene.configuration()
            configuration.httpAdditionalHeaders = ["X-Own": "first"]
            let session = URLSession(configuration: configuration)
            configuration.httpAdditionalHeaders = ["X-Own": "second"]
            let (data, _) = try await session.data(from: scene.url("/a"))
            #expect(String(decoding: data, as: UTF8.self) == "first")
            session.configuration.httpAdditionalHeaders = nil
            #expect(session.configuration.httpAdditionalHeaders?["X-Own"] as? String == "first")
        }

        @Test func nothingHappensBeforeATaskIsResumed() async throws {
            let scene = try await LibraryScene()
            scene.origin.serve("/a", .status(200, body: "x"))
            let recorder = Recorder()
            let session = scene.session(.ephemeral, recorder)
            let (first, second) = (
                session.dataTask(with: try scene.url("/a")), session.dataTask(with: try scene.url("/a"))
            )
            #expect((first.state, first.taskIdentifier) == (.suspended, 1))
            second.resume()
            #expect(await recorder.wait(for: "complete"))
            #expect(scene.origin.requests("/a").count == 1)
            #expect(await session.allTasks == [first])
            first.cancel()
            #expect(await eventually(within: 10) { recorder.lines.contains("complete -999") })
            #expect(first.state == .completed)
            #expect(await session.allTasks == [])
        }

        /// Says when a delayed task begins, and with which request.
        final class Delayer: NSObject, URLSessionDataDelegate, Sendable {
            let decision: URLSession.DelayedRequestDisposition
            let lines = Guarded<[String]>([])
            init(_ decision: URLSession.DelayedRequestDisposition) { self.decision = decision }

            func urlSession(
                _ session: URLSession, task: URLSessionTask, willBeginDelayedRequest request: URLRequest,
                completionHandler: @escaping @Sendable (URLSession.DelayedRequestDisposition, URLRequest?) -> Void
            ) {
                lines.withLock { $0.append("begins") }
                var request = request
                request.setValue("new", forHTTPHeaderField: "X-Own")
                completionHandler(decision, request)
            }
            func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
                lines.withLock { $0.append("complete \((error as? URLError)?.code.rawValue ?? 0)") }
            }
        }

        @Test(arguments: [
            (URLSession.DelayedRequestDisposition.continueLoading, "complete 0", ["-"]),
            (.useNewRequest, "complete 0", ["new"]), (.cancel, "complete -999", []),
        ])
        func aDelayedTaskIsAskedWhenItBegins(
            _ decision: URLSession.DelayedRequestDisposition, _ end: String, _ fields: [String]
        ) async throws {
            let scene = try await LibraryScene()
            scene.origin.serve("/a", .status(200, body: "x"))
            let delayer = Delayer(decision)
            let task = scene.session(.ephemeral, delayer).dataTask(with: try scene.url("/a"))
            let begin = Date(timeIntervalSinceNow: 1)
            task.earliestBeginDate = begin
            task.resume()
            #expect(await eventually(within: 20) { delayer.lines.withLock { $0 } == ["begins", end] })
            #expect(Date() >= begin)
            #expect(scene.origin.requests("/a").map { $0.header("X-Own") ?? "-" } == fields)
        }

        /// Holds a response until it is released.
        final class Holder: NSObject, URLSessionDataDelegate, Sendable {
            struct Values: Sendable {
                var decide: (@Sendable (URLSession.ResponseDisposition) -> Void)?
                var count = 0
                var isComplete = false
            }
            let values = Guarded(Values())

            func urlSession(
                _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
                completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
            ) { values.withLock { $0.decide = completionHandler } }
            func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
                values.withLock { $0.count += data.count }
            }
            func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
                values.withLock { $0.isComplete = true }
            }
        }

        /// The daemon has not given it any byte: the server still has most of it, because that is more than sockets hold.
        @Test func aBodyWaitsForTheDecision() async throws {
            let scene = try await LibraryScene()
            let large = Resource.version(10, size: 16_000_000)
            scene.origin.serve("/a", .good(large))
            let holder = Holder()
            scene.session(.ephemeral, holder).dataTask(with: try scene.url("/a")).resume()
            #expect(await eventually(within: 20) { holder.values.withLock { $0.decide != nil } })
            #expect(holder.values.withLock { $0.count } == 0)
            #expect(scene.origin.requests("/a").first?.isFinished == false)
            holder.values.withLock { $0.decide }?(.allow)
            #expect(await eventually(within: 180) { holder.values.withLock { $0.isComplete } })
            #expect(holder.values.withLock { $0.count } == 16_000_000)
        }

        /// Has the asynchronous forms alone.
        final class Patient: NSObject, URLSessionDataDelegate, Sendable {
            let lines = Guarded<[String]>([])
            private func note(_ line: String) { lines.withLock { $0.append(line) } }

            func urlSession(
                _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
                newRequest request: URLRequest
            ) async -> URLRequest? {
                note("redirect")
                return request
            }
            func urlSession(
                _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
            ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
                note("challenge")
                return (.useCredential, URLCredential(user: "anna", password: "secret", persistence: .none))
            }
            func urlSession(_ session: URLSession, needNewBodyStreamForTask task: URLSessionTask) async -> InputStream?
            {
                note("stream")
                return InputStream(data: Data("hello".utf8))
            }
            func urlSession(
                _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse
            ) async -> URLSession.ResponseDisposition {
                note("response")
                return .allow
            }
            func urlSession(
                _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposed: CachedURLResponse
            ) async -> CachedURLResponse? {
                note("cache")
                return nil
            }
            func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
                note(String(decoding: data, as: UTF8.self))
            }
            func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
                note("complete \((error as? URLError)?.code.rawValue ?? 0)")
            }
        }

        @Test func asynchronousFormsOfADelegate() async throws {
            let scene = try await LibraryScene()
            scene.origin.serve("/from", .redirect(to: "/to"))
            scene.origin.serve(
                "/to",
                .basic(
                    Data("anna:secret".utf8).base64EncodedString(),
                    then: .status(200, [("Cache-Control", "private, max-age=600")], body: "in")))
            scene.origin.serve("/up", .choose { .status(200, body: String(decoding: $0.body, as: UTF8.self)) })
            let patient = Patient()
            let session = scene.session(.ephemeral, patient)
            session.dataTask(with: try scene.url("/from")).resume()
            #expect(await eventually(within: 20) { patient.lines.withLock { $0.last } == "complete 0" })
            #expect(
                patient.lines.withLock { $0 } == ["redirect", "challenge", "response", "in", "cache", "complete 0"])
            patient.lines.withLock { $0 = [] }
            var request = URLRequest(url: try scene.url("/up"))
            request.httpMethod = "POST"
            session.uploadTask(withStreamedRequest: request).resume()
            #expect(await eventually(within: 20) { patient.lines.withLock { $0.last } == "complete 0" })
            #expect(patient.lines.withLock { $0 } == ["stream", "response", "hello", "complete 0"])
        }

        // MARK: Challenges of connections

        /// Answers the session's challenges, and says what they were.
        final class Guard: NSObject, URLSessionDataDelegate, Sendable {
            typealias Answer = @Sendable (URLAuthenticationChallenge) -> URLCredential?
            let answer: Answer
            let lines = Guarded<[String]>([])
            init(_ answer: @escaping Answer) { self.answer = answer }

            func urlSession(
                _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
                completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
            ) {
                lines.withLock { $0.append("\(challenge.protectionSpace.authenticationMethod)") }
                let credential = answer(challenge)
                completionHandler(credential == nil ? .performDefaultHandling : .useCredential, credential)
            }
        }

        @Test(.enabled(if: Requirements.has("nginx", "openssl")), arguments: [true, false])
        func aDelegateTrustsAServer(_ trusts: Bool) async throws {
            let server = try await Nginx.start(tls: true)
            try server.publish("file", resource.content)
            let scene = try await LibraryScene()
            let delegate = Guard { challenge in
                let trust = challenge.protectionSpace.serverTrust
                return trusts && trust?.certificates.isEmpty == false ? trust.map { URLCredential(trust: $0) } : nil
            }
            let session = scene.session(.ephemeral, delegate)
            let url = try #require(URL(string: server.tlsURL("file")))
            let result = await Result { try await session.data(from: url).0 }
            #expect(delegate.lines.withLock { $0 } == [NSURLAuthenticationMethodServerTrust])
            switch result {
            case .success(let data): #expect(trusts && Array(data) == resource.content.bytes)
            case .failure(let error):
                #expect(!trusts && (error as? URLError)?.code == .serverCertificateHasUnknownRoot, "\(error)")
            }
        }

        @Test(.enabled(if: Requirements.has("nginx", "openssl")))
        func aDelegateShowsItsCertificate() async throws {
            let server = try await Nginx.start(
                tls: true,
                extra: """
                    ssl_verify_client on; ssl_client_certificate ca.pem;
                    location = /who { return 200 "$ssl_client_s_dn"; }
                    """)
            let authority = try #require(server.certificates?.authority)
            let folder = try TemporaryFolder()
            try await Program.require([
                "openssl", "req", "-newkey", "rsa:2048", "-nodes", "-keyout", folder.file("own.key"), "-out",
                folder.file("own.csr"), "-subj", "/CN=anna",
            ])
            try await Program.require([
                "openssl", "x509", "-req", "-in", folder.file("own.csr"), "-CA", authority, "-CAkey",
                server.folder.file("ca.key"), "-CAcreateserial", "-out", folder.file("own.pem"), "-days", "30",
            ])
            let (certificate, key) = (folder.file("own.pem"), folder.file("own.key"))
            let delegate = Guard { challenge in
                if let trust = challenge.protectionSpace.serverTrust { return URLCredential(trust: trust) }
                return URLCredential(
                    certificateFile: URL(fileURLWithPath: certificate), keyFile: URL(fileURLWithPath: key),
                    persistence: .forSession)
            }
            let scene = try await LibraryScene()
            let url = try #require(URL(string: server.tlsURL("who")))
            let (data, _) = try await scene.session(.ephemeral, delegate).data(from: url)
            #expect(String(decoding: data, as: UTF8.self) == "CN=anna")
            #expect(delegate.lines.withLock { $0 }.last == NSURLAuthenticationMethodClientCertificate)
        }

        @Test(.enabled(if: Requirements.has("python3")))
        func aDelegateAnswersNTLM() async throws {
            let server = try await NTLMServer.start(resource.content)
            let scene = try await LibraryScene()
            let delegate = Guard { _ in
                URLCredential(user: NTLMServer.user, password: NTLMServer.password, persistence: .forSession)
            }
            let url = try #require(URL(string: server.url))
            let (data, _) = try await scene.session(.ephemeral, delegate).data(from: url)
            #expect(Array(data) == resource.content.bytes)
            #expect(delegate.lines.withLock { $0 } == [NSURLAuthenticationMethodNTLM])
        }
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}

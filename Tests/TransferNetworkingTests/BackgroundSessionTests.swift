import Foundation
import TestSupport
import Testing
import Threading
import TransferNetworking

extension TransferNetworkingSuite {
    /// Sessions whose tasks outlive their process. A process that is gone is a session whose connection is closed, and
    /// `ProcessDeathTests` kills real ones.
    @Suite struct BackgroundSessionTests {
        private let resource = Resource.version(5, size: 500_000)

        @Test func aDownloadIsDeliveredAndAcknowledged() async throws {
            let scene = try await LibraryScene()
            scene.origin.serve("/a", .good(resource))
            let recorder = Recorder()
            let session = scene.session(.background(withIdentifier: "one"), recorder)
            session.downloadTask(with: try scene.url("/a")).resume()
            #expect(await recorder.wait(for: "complete"))
            #expect(recorder.holds(resource))
            #expect(recorder.lines.filter { $0 == "file" }.count == 1)
            #expect(recorder.lines.filter { $0 != "events" }.suffix(3) == ["file", "metrics", "complete 0"])
            // Its file is gone, and nothing waits to be told.
            let isDone = await eventually(within: 10) {
                (try? await scene.daemon.dlctl(["session", "show", "one", "--json"]).output.contains(
                    "\"unacknowledgedEvents\":0"))
                    ?? false
            }
            #expect(isDone)
        }

        /// The session's settings reach the daemon, and so does that of a request.
        @Test func whatIsForbiddenIsWaitedFor() async throws {
            let scene = try await LibraryScene()
            scene.origin.serve("/a", .good(resource))
            #expect(try await scene.daemon.dlctl(["settings", "lowDataMode=on"]).status == 0)
            let configuration = URLSessionConfiguration.background(withIdentifier: "eleven")
            configuration.allowsConstrainedNetworkAccess = false
            configuration.isDiscretionary = true
            let recorder = Recorder()
            let session = scene.session(configuration, recorder)
            var request = URLRequest(url: try scene.url("/a"))
            request.allowsCellularAccess = false
            session.downloadTask(with: request).resume()
            let waits = await eventually(within: 20) {
                let listed = try? await scene.daemon.dlctl(["list", "--json"]).output
                return listed?.contains("\"metered\"") == true
                    && listed?.contains("\"allowsCellularAccess\":false") == true
            }
            #expect(waits)
            let settings = try await scene.daemon.dlctl(["session", "show", "eleven", "--json"]).output
            for setting in ["allowsConstrainedNetworkAccess\":false", "isDiscretionary\":true"] {
                #expect(settings.contains(setting), "\(settings)")
            }
            #expect(try await scene.daemon.dlctl(["settings", "lowDataMode=off"]).status == 0)
            #expect(await recorder.wait(for: "complete"))
            #expect(recorder.holds(resource))
        }

        @Test func refusesWhatBackgroundSessionsCannotDo() async throws {
            let scene = try await LibraryScene()
            let session = scene.session(.background(withIdentifier: "two"))
            let error = await #expect(throws: URLError.self) { try await session.data(from: scene.url("/a")) }
            #expect(error?.code == .unknown)
            #expect(scene.origin.requests().isEmpty)
        }

        @Test func aSessionEndsOnceThereIsADaemon() async throws {
            let scene = try await LibraryScene()
            try await scene.daemon.kill()
            let recorder = Recorder()
            let session = scene.session(.background(withIdentifier: "six"), recorder)
            session.finishTasksAndInvalidate()
            try await scene.daemon.start()
            #expect(await recorder.wait(for: "invalid", within: 30))
        }

        /// Also those whose end comes before that of an earlier one.
        @Test func toldTasksAreForgotten() async throws {
            let scene = try await LibraryScene()
            scene.origin.serveEverything(.status(200, body: "x"))
            let recorder = Recorder()
            let session = scene.session(.background(withIdentifier: "ten"), recorder)
            for _ in 0..<60 { session.downloadTask(with: try scene.url("/a")).resume() }
            #expect(await eventually(within: 40) { recorder.lines.count { $0 == "complete 0" } == 60 })
            let isEmpty = await eventually(within: 20) {
                (try? await scene.daemon.dlctl(["list", "--all", "--json"]).output.contains("\"completed\"")) == false
            }
            #expect(isEmpty)
        }

        @Test func twoSessionsOfAProcessLoseNoTask() async throws {
            let scene = try await LibraryScene()
            scene.origin.serveEverything(.good(resource))
            let recorders = [Recorder(), Recorder()]
            let sessions = recorders.map { scene.session(.background(withIdentifier: "eight"), $0) }
            for (index, session) in sessions.enumerated() {
                session.downloadTask(with: try scene.url("/\(index)")).resume()
            }
            let isDone = await eventually(within: 20) {
                recorders.flatMap(\.lines).filter { $0 == "complete 0" }.count >= 2
            }
            #expect(isDone, "\(recorders.map(\.lines))")
            #expect(Set(scene.origin.requests().map(\.request.path)) == ["/0", "/1"])
        }

        /// What the daemon refuses is told at once, and not tried for ever.
        @Test func aRefusedConfigurationEndsTheSession() async throws {
            let scene = try await LibraryScene()
            let recorder = Recorder()
            let configuration = scene.configuration(.background(withIdentifier: "nine"))
            configuration.httpAdditionalHeaders = ["no field": "x"]
            let session = URLSession(configuration: configuration, delegate: recorder, delegateQueue: nil)
            let late = session.downloadTask(with: try scene.url("/a"))
            session.downloadTask(with: try scene.url("/a")).resume()
            #expect(await recorder.wait(for: "invalid"))
            late.resume()
            #expect(await eventually(within: 20) { recorder.lines.count { $0.hasPrefix("complete") } == 2 })
            #expect(!recorder.lines.contains("complete 0"))
            #expect(await session.allTasks == [])
        }

        /// What is stored for a session that has ended does not bring it back.
        @Test func anInvalidatedSessionStaysAway() async throws {
            let scene = try await LibraryScene()
            scene.origin.serve("/a", .status(200, body: "x"))
            let recorder = Recorder()
            let configuration = scene.configuration(.background(withIdentifier: "seven"))
            let credentials = try #require(scene.configuration().urlCredentialStorage)
            configuration.urlCredentialStorage = credentials
            let session = URLSession(configuration: configuration, delegate: recorder, delegateQueue: nil)
            session.finishTasksAndInvalidate()
            #expect(await recorder.wait(for: "invalid"))
            credentials.set(
                URLCredential(user: "anna", password: "secret", persistence: .forSession),
                for: URLProtectionSpace(
                    host: "h", port: 80, protocol: "http", realm: "r",
                    authenticationMethod: NSURLAuthenticationMethodHTTPBasic))
            // Later calls come after one that the session would have made.
            _ = try await scene.session().data(from: scene.url("/a"))
            let shown = try await scene.daemon.dlctl(["session", "show", "seven", "--json"]).output
            #expect(shown.contains("\"state\":\"invalidated\""), "\(shown)")
            #expect(session.delegate == nil)
        }

        @Test func theDaemonsDeathIsOutlived() async throws {
            let scene = try await LibraryScene()
            scene.origin.serve("/a", .good(resource, rate: 200_000), .good(resource))
            let recorder = Recorder()
            let task = scene.session(.background(withIdentifier: "three"), recorder).downloadTask(
                with: try scene.url("/a"))
            task.resume()
            #expect(await eventually(within: 20) { task.countOfBytesReceived > 50_000 })
            try await scene.daemon.restart()
            #expect(await recorder.wait(for: "complete", within: 40))
            #expect(recorder.lines.last == "complete 0")
            #expect(recorder.holds(resource))
        }

        /// A cancellation that overtakes the add reaches the daemon too.
        @Test func cancelledTasksEndInTheDaemonHoweverEarly() async throws {
            let scene = try await LibraryScene()
            scene.origin.serveEverything(.silent)
            let recorder = Recorder()
            let session = scene.session(.background(withIdentifier: "four"), recorder)
            for _ in 0..<20 {
                let task = session.downloadTask(with: try scene.url("/a"))
                task.resume()
                task.cancel()
            }
            #expect(await eventually(within: 20) { recorder.lines.count { $0 == "complete -999" } == 20 })
            let hasNone = await eventually(within: 20) {
                (try? await scene.daemon.dlctl(["list", "--json"]).output).map {
                    !$0.contains("\"running\"") && !$0.contains("\"queued\"")
                } ?? false
            }
            #expect(hasNone)
        }

        final class Listener: NSObject, URLSessionTaskDelegate, Sendable {
            let ends = Guarded(0)
            func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
                ends.withLock { $0 += 1 }
            }
        }

        @Test func aFileThatNoDelegateTakesIsLeftForTheNext() async throws {
            let scene = try await LibraryScene()
            scene.origin.serve("/a", .good(resource))
            let listener = Listener()
            let deaf = scene.session(.background(withIdentifier: "five"), listener)
            deaf.downloadTask(with: try scene.url("/a")).resume()
            #expect(await eventually(within: 20) { listener.ends.withLock { $0 } == 1 })
            let recorder = Recorder()
            let next = scene.session(.background(withIdentifier: "five"), recorder)
            #expect(await recorder.wait(for: "events"))
            #expect(recorder.lines.filter { $0 != "metrics" } == ["file", "complete 0", "events"])
            #expect(recorder.holds(resource))
            next.finishTasksAndInvalidate()
            #expect(await recorder.wait(for: "invalid"))
        }
    }
}

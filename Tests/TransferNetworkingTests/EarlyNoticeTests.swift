import Foundation
import JSONRPC
import TestSupport
import Testing
import Threading
import TransferModel
import TransferNetworking
import TransferRPC

extension TransferNetworkingSuite {
    /// Ends that come before the answer to their task's addition, from a daemon that keeps to a script.
    @Suite struct EarlyNoticeTests {
        /// Has one task, 7, whose end is event 1.
        final class ScriptedDaemon: RequestHandler {
            enum Script { case endFirst, connectionBreaks, endOfAStranger }
            struct Values {
                var opens = 0
                var adds = 0
                var isReleased = false
                var acknowledged: [Int64] = []
            }
            let script: Script
            let values = Guarded(Values())

            init(_ script: Script) { self.script = script }

            func opened(_ connection: RPCConnection) {}
            func closed(_ connection: RPCConnection) {}

            func answer(_ request: RPCRequest, from connection: RPCConnection) async -> RPCAnswer {
                switch request.method {
                case Methods.openSession.name:
                    let number = values.withLock { values in
                        values.opens += 1
                        return values.opens
                    }
                    if script == .endOfAStranger, number == 2 {
                        Self.sendEnd(connection)
                        _ = await eventually { self.values.withLock { $0.isReleased } }
                    }
                    return result(session)
                case Methods.invalidateSession.name: return result(session)
                case Methods.listTasks.name: return result(ListedTasks(tasks: []))
                case Methods.listDecisions.name: return result(ListedDecisions(decisions: []))
                case Methods.subscribe.name: return result(Subscribed(subscription: "s1", after: .zero, head: .zero))
                case Methods.listEvents.name: return result(ListedEvents(events: [], first: nil, head: .zero))
                case Methods.removeTasks.name: return result(ControlResult())
                case Methods.acknowledgeEvents.name:
                    let call = try? JSONCoding.decode(AcknowledgeEvents.self, from: request.parameters ?? [])
                    values.withLock { $0.acknowledged.append(call?.sequence.rawValue ?? -1) }
                    return result(Nothing())
                case Methods.addTasks.name: return await add(connection)
                default: return result(Nothing())
                }
            }

            private func add(_ connection: RPCConnection) async -> RPCAnswer {
                let number = values.withLock { values in
                    values.adds += 1
                    return values.adds
                }
                let added = AddedTasks(tasks: [AddedTask(id: TaskID(7), state: .queued)])
                if script == .connectionBreaks, number > 1 {
                    return RPCAnswer(.success(JSONCoding.encode(added))) { Self.sendEnd(connection) }
                }
                Self.sendEnd(connection)
                guard script == .connectionBreaks else { return result(added) }
                // Closing drops what has not been sent.
                _ = await eventually { connection.queuedBytes == 0 }
                connection.close()
                return result(Nothing())
            }

            private static func sendEnd(_ connection: RPCConnection) {
                let end = #"{"type":"task.completed","sequence":1,"task":7,"file":"/nowhere/file","bytes":1}"#
                connection.send(Array(#"{"jsonrpc":"2.0","method":"event","params":"#.utf8), Array((end + "}").utf8))
            }

            private var session: SessionView {
                let record = SessionRecord(key: .shared(of: .root), createdAt: Timestamp(milliseconds: 0))
                return SessionView(record, tasks: [:], unacknowledgedEvents: 0)
            }

            private func result(_ value: some WireValue) -> RPCAnswer { RPCAnswer(.success(JSONCoding.encode(value))) }
        }

        /// Takes no files.
        final class Deaf: NSObject, URLSessionTaskDelegate, Sendable {
            private let values = Guarded<[String]>([])
            var lines: [String] { values.withLock { $0 } }
            func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
                values.withLock { $0.append("complete") }
            }
            func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
                values.withLock { $0.append("invalid") }
            }
        }

        private func configuration(_ name: String, _ folder: TemporaryFolder) -> URLSessionConfiguration {
            let configuration = URLSessionConfiguration.background(withIdentifier: name)
            configuration.daemonSocket = folder.file("s")
            return configuration
        }

        /// The next process is to hear of the file. A session is over only when its acknowledgements have arrived.
        @Test(.timeLimit(.minutes(3)), arguments: [ScriptedDaemon.Script.endFirst, .connectionBreaks])
        func anEndThatNobodyTookIsNotAcknowledged(_ script: ScriptedDaemon.Script) async throws {
            let folder = try TemporaryFolder()
            let daemon = ScriptedDaemon(script)
            let server = try await RPCServer.start(on: .path(SocketPath(folder.file("s"))), handler: daemon)
            let deaf = Deaf()
            let session = URLSession(
                configuration: configuration("early-\(script)", folder), delegate: deaf, delegateQueue: nil)
            session.downloadTask(with: try #require(URL(string: "http://127.0.0.1/a"))).resume()
            #expect(await eventually { deaf.lines == ["complete"] })
            session.finishTasksAndInvalidate()
            #expect(await eventually { deaf.lines == ["complete", "invalid"] })
            #expect(daemon.values.withLock { $0.acknowledged } == [])
            #expect(daemon.values.withLock { $0.adds } == (script == .endFirst ? 1 : 2))
            await server.stop()
        }

        /// Nothing is added, so no answer will tell whose end it was.
        @Test(.timeLimit(.minutes(3))) func cancelledAdditionsHoldNothingBack() async throws {
            let folder = try TemporaryFolder()
            let daemon = ScriptedDaemon(.endOfAStranger)
            let server = try await RPCServer.start(on: .path(SocketPath(folder.file("s"))), handler: daemon)
            let deaf = Deaf()
            let session = URLSession(configuration: configuration("early-cancelled", folder))
            let task = session.downloadTask(with: try #require(URL(string: "http://127.0.0.1/a")))
            // The session asks nobody, so it is opened again for this delegate.
            task.delegate = deaf
            task.resume()
            #expect(await eventually { daemon.values.withLock { $0.opens } == 2 })
            task.cancel()
            #expect(await eventually { deaf.lines == ["complete"] })
            daemon.values.withLock { $0.isReleased = true }
            #expect(await eventually { daemon.values.withLock { $0.acknowledged }.contains(1) })
            withExtendedLifetime(session) {}
            await server.stop()
        }
    }
}

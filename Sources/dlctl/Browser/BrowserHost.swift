import SystemBus
import TransferClient
import TransferModel
import TransferRPC

/// Serves an extension in place of the download manager that it was written for.
struct BrowserHost {
    let session: CommandSession
    let messages: NativeMessages

    /// Where downloads of browsers are.
    static let sessionName = "browser"

    // MARK: Persepolis

    /// The extension connects for one message, and has heard enough when it is greeted.
    func servePersepolis() async throws {
        messages.send(["enable": true, "version": "1.85"])
        do {
            guard let bytes = try message() else { return }
            let links = try JSONCoding.decode(JSONValue.self, from: bytes, lenient: true)["url_links"]?.arrayValue ?? []
            let specs = links.compactMap { HostedLink(persepolis: $0)?.spec }
            guard !links.isEmpty else { return }
            let refusal = try await add(specs)
            if let reason = refusal ?? (specs.count < links.count ? Self.otherScheme : nil) {
                throw CommandFailure.local("Not all links of the browser were added. \(reason)")
            }
        } catch {
            // Nobody reads what this program says: the browser has gone.
            await DesktopNote.tell("dld did not take a download", Self.words(error))
            throw error
        }
    }

    private static let otherScheme = "Links are of http, https or ftp."

    /// - Returns: nil at the end of the input.
    /// - Throws: `CommandFailure.local` if it is not whole.
    private func message() throws -> [UInt8]? {
        switch messages.next() {
        case .message(let bytes): return bytes
        case .tooLong(let length): throw CommandFailure.local(Self.tooLong(length))
        case .cut: throw CommandFailure.local("The browser's message was cut off.")
        case .end: return nil
        }
    }

    private static func tooLong(_ length: Int) -> String {
        "The browser's message has \(length) bytes; at most \(NativeMessages.longestMessage) are read."
    }

    // MARK: Gopeed

    /// Answers each message, in order, until the browser closes its end.
    func serveGopeed() async throws {
        while true {
            switch messages.next() {
            case .message(let bytes): messages.send(await answer(bytes))
            case .tooLong(let length): messages.send(Self.refusal(Self.tooLong(length)))
            case .cut: throw CommandFailure.local("the browser's message was cut off")
            case .end: return
            }
        }
    }

    private func answer(_ bytes: [UInt8]) async -> JSONValue {
        do {
            let message = try JSONCoding.decode(JSONValue.self, from: bytes, lenient: true)
            switch message["method"]?.stringValue {
            case "ping":
                let client = try? await session.access.connectToRunning()
                await client?.close()
                return ["code": 0, "data": .bool(client != nil)]
            case "wakeup": try await session.connect().close()
            case "create":
                guard let link = HostedLink(gopeed: message["params"]) else {
                    return Self.refusal("params is not base64 of a request with its url.")
                }
                guard let spec = link.spec else { return Self.refusal(Self.otherScheme) }
                if let reason = try await add([spec]) { return Self.refusal(reason) }
            case let other?: return Self.refusal("Unknown method: \(other)")
            case nil: return Self.refusal("The message has no method.")
            }
            return ["code": 0]
        } catch {
            return Self.refusal(Self.words(error))
        }
    }

    private static func refusal(_ text: String) -> JSONValue {
        ["code": 1, "message": .string(String(text.prefix(1000)))]
    }

    // MARK: Both

    /// Adds all tasks in one call. Cookies and tasks that the daemon refuses are left out.
    /// - Returns: why a task was refused.
    private func add(_ specs: [TaskSpec]) async throws -> String? {
        guard !specs.isEmpty else { return nil }
        // Starting a daemon may take longer than a browser waits.
        guard let client = try await session.access.connectToRunning() else {
            throw CommandFailure.noDaemon("dld does not answer. Start it with: dlctl start")
        }
        do {
            _ = try await client.call(Methods.openSession, OpenSession(id: Self.sessionName))
            let refusal = try await add(specs, client)
            await client.close()
            return refusal
        } catch {
            await client.close()
            throw error
        }
    }

    private func add(_ specs: [TaskSpec], _ client: any DaemonCalling) async throws -> String? {
        var tasks = specs
        var refusal: String?
        while !tasks.isEmpty {
            do {
                _ = try await client.call(Methods.addTasks, AddTasks(session: Self.sessionName, tasks: tasks))
                return refusal
            } catch let error as TransferError {
                if let cookie = Submission<[TaskSpec]>.cookie(in: tasks, error) {
                    for index in tasks.indices { tasks[index].leaveOut([cookie]) }
                } else if let index = CommandWords.taskIndex(error), tasks.indices.contains(index) {
                    refusal = refusal ?? CommandWords.refusal(error)
                    tasks.remove(at: index)
                } else {
                    throw error
                }
            }
        }
        return refusal
    }

    private static func words(_ error: any Error) -> String {
        switch error {
        case let error as TransferError: CommandWords.refusal(error)
        case let error as ClientError: error.description
        case let failure as CommandFailure: failure.message ?? ""
        default: String(describing: error)
        }
    }
}

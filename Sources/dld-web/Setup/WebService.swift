import DaemonSetup
import FoundationEssentials
import Glibc
import JSONRPC
import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import TransferClient
import TransferModel
import UnixSignals

/// The command line, which a reload reads again together with the files.
struct WebArguments: Sendable {
    var flags: [(option: String, name: String, values: [String])]
    var socket: String?
    var system: Bool
    var stateDirectory: String?

    func settings(_ environment: [String: String]) throws(SetupFailure) -> WebSettings {
        let settings = try WebSettings.load(flags: flags, environment: environment)
        for path in [settings.metricsTokenFile, settings.aria2SecretFile].compactMap(\.self) {
            _ = try Self.secret(in: path)
        }
        return settings
    }

    /// The first line of a file.
    static func secret(in path: String) throws(SetupFailure) -> String {
        switch FileText.read(path, limit: 4096) {
        case .missing: throw .configuration("\(path): no such file; write the secret into it.")
        case .failed(let reason): throw .configuration("\(path): cannot be read: \(reason).")
        case .text(let text):
            let line = text.split(whereSeparator: \.isNewline).first.map { $0.trimming(" \t") } ?? ""
            guard !line.isEmpty else { throw .configuration("\(path): is empty; write the secret into it.") }
            return line
        }
    }

    /// `--state-dir`, else `$XDG_STATE_HOME/dld-web`.
    func stateFolder(_ environment: [String: String]) -> String {
        func absolute(_ name: String) -> String? { environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil } }
        return stateDirectory ?? absolute("XDG_STATE_HOME").map { $0 + "/dld-web" }
            ?? (absolute("HOME") ?? "/") + "/.local/state/dld-web"
    }
}

/// Assembles the parts, and runs until a signal or idleness ends the program.
final class WebService: Sendable {
    private static let usualPort = 8353
    /// How long streams and answers have to end.
    private static let grace = Duration.seconds(5)

    private let arguments: WebArguments
    private let environment: [String: String]
    private let log: LogDestination
    private let logger: Logger
    private let notifier: Notifier
    private let group: MultiThreadedEventLoopGroup
    private let link: DaemonLink
    private let hub: EventHub
    private let site: Site
    private let channels: [any Channel]
    private let control: RPCServer
    private let aria2: Aria2Server?
    /// When the last connection ended; nil while there is one.
    private let idleSince: NIOLockedValueBox<ContinuousClock.Instant?>
    private let exitOnIdle: Double?

    /// - Throws: `SetupFailure` if it cannot listen or store its state.
    static func run(_ arguments: WebArguments, _ settings: WebSettings, _ environment: [String: String]) async throws {
        signal(SIGPIPE, SIG_IGN)
        WebMetrics.start()
        ListenSockets.clearEnvironment()
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint, .sighup)
        let service = try await WebService(arguments, settings, environment)
        await service.serve(until: signals)
    }

    private init(_ arguments: WebArguments, _ settings: WebSettings, _ environment: [String: String]) async throws {
        self.arguments = arguments
        self.environment = environment
        exitOnIdle = settings.exitOnIdle
        log = LogDestination.standardError(environment: environment, level: settings.logLevel, program: "dld-web")
        logger = log.logger(label: "dld-web")
        notifier = Notifier(environment: environment)
        let folder = arguments.stateFolder(environment)
        let file = try StateFile(in: folder)
        if let damaged = file.damaged {
            logger.warning("the state was damaged, so all browsers are signed out", metadata: ["kept": "\(damaged)"])
        }
        let adopted = try Self.adopted(environment)
        let ports = try Self.ports(settings, file, adopted)
        let aria2Ports = try Self.aria2Ports(settings, adopted)
        let signIn = SignIn(file)
        let link = DaemonLink(
            sockets: DaemonClient.candidateSocketPaths(
                explicit: arguments.socket, system: arguments.system, environment: environment), logger: logger)
        let hub = EventHub(link, logger: logger)
        let site = Site(
            hub: hub, link: link, signIn: signIn, rules: try Self.rules(settings, port: ports.port),
            aria2Port: aria2Ports?.port, logger: logger)
        signIn.ended.withLockedValue { $0 = { hub.end(sessions: $0) } }
        (self.link, self.hub, self.site) = (link, hub, site)
        group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let idleSince = NIOLockedValueBox<ContinuousClock.Instant?>(.now)
        self.idleSince = idleSince
        channels = try await Self.listen(ports, site, group) { areThereAny in
            idleSince.withLockedValue { $0 = areThereAny ? nil : .now }
        }
        if let aria2Ports {
            aria2 = try await Self.aria2(settings, file, aria2Ports, link, hub, site, group)
        } else {
            aria2 = nil
        }
        let bases = Self.bases(settings, isAdopted: adopted.contains { $0.name == "http" }, ports.port)
        control = RPCServer(handler: ControlSocket(signIn: signIn, base: bases[0]))
        try await Self.listen(control, folder, adopted, environment)
        for address in settings.addresses where !WebSettings.isLoopback(address) {
            logger.warning("the wire is plain; use ssh -L, or a proxy with TLS", metadata: ["address": "\(address)"])
        }
        for base in bases { log.sink.write("listening on \(base)\n") }
    }

    // MARK: Places

    private static func adopted(_ environment: [String: String]) throws(SetupFailure) -> [ListenSockets.Adopted] {
        let sockets: [ListenSockets.Adopted]
        do {
            sockets = try ListenSockets(environment: environment, families: [AF_UNIX, AF_INET, AF_INET6]).sockets
        } catch {
            throw SetupFailure(error.message)
        }
        for socket in sockets where !["http", "aria2", "control"].contains(socket.name) {
            throw .configuration("FileDescriptorName=\(socket.name) of the socket unit: give http, aria2 or control.")
        }
        return sockets
    }

    private static func ports(
        _ settings: WebSettings, _ file: StateFile, _ adopted: [ListenSockets.Adopted]
    ) throws(SetupFailure) -> ListeningPorts {
        if let ports = ListeningPorts(adopted: adopted.filter { $0.name == "http" }.map(\.descriptor)) { return ports }
        let usual = [file.content.port, usualPort, 0].compactMap(\.self)
        let ports = try ListeningPorts(
            settings.addresses, ports: settings.port == 0 ? usual : [settings.port],
            skipsMissing: settings.listen.isEmpty)
        file.change { $0.port = ports.port }
        return ports
    }

    private static func aria2Ports(
        _ settings: WebSettings, _ adopted: [ListenSockets.Adopted]
    ) throws(SetupFailure) -> ListeningPorts? {
        guard settings.aria2Enabled else { return nil }
        if let ports = ListeningPorts(adopted: adopted.filter { $0.name == "aria2" }.map(\.descriptor)) { return ports }
        return try ListeningPorts(
            settings.addresses, ports: [settings.aria2Port], option: "--aria2-port",
            skipsMissing: settings.listen.isEmpty)
    }

    private static func aria2(
        _ settings: WebSettings, _ file: StateFile, _ ports: ListeningPorts, _ link: DaemonLink, _ hub: EventHub,
        _ site: Site, _ group: MultiThreadedEventLoopGroup
    ) async throws -> Aria2Server {
        let port = ports.port
        let server = Aria2Server(
            .init(
                call: { try await link.value($0, $1) },
                secret: try settings.aria2SecretFile.map { try WebArguments.secret(in: $0) },
                options: file.content.aria2Options,
                keepOptions: { options in file.change { $0.aria2Options = options } })
        ) {
            var rules = site.rules
            rules.port = port
            return rules
        }
        for descriptor in ports.descriptors {
            server.add(try await server.bootstrap(on: group).withBoundSocket(descriptor).get())
        }
        hub.watch { server.received($0) }
        return server
    }

    private static func bases(_ settings: WebSettings, isAdopted: Bool, _ port: Int) -> [String] {
        let addresses = isAdopted ? ["127.0.0.1"] : settings.addresses
        return addresses.map { address in
            // A page on all addresses is reached at any of its names.
            let host = ["0.0.0.0", "::"].contains(address) ? settings.hosts.first ?? "localhost" : address
            let isIPv6 = host.contains(":") && !host.contains(".") && !host.hasPrefix("[")
            return "http://\(isIPv6 ? "[\(host)]" : host):\(port)/"
        }
    }

    private static func listen(
        _ ports: ListeningPorts, _ site: Site, _ group: MultiThreadedEventLoopGroup,
        _ changed: @escaping @Sendable (Bool) -> Void
    ) async throws -> [any Channel] {
        let loop = group.next()
        let connections = try await loop.submit {
            let connections = HTTPConnections()
            connections.changed = changed
            return NIOLoopBound(connections, eventLoop: loop)
        }.get()
        let bootstrap = ServerBootstrap(group: loop)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(AcceptBackoffHandler())
                }
            }
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.writeBufferWaterMark, value: .init(low: 16 << 10, high: 64 << 10))
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try HTTPConnection.begin(on: channel, site, connections.value) }
            }
        var channels: [any Channel] = []
        for descriptor in ports.descriptors { channels.append(try await bootstrap.withBoundSocket(descriptor).get()) }
        return channels
    }

    /// The control socket is in the state folder, where nobody else can put one, and where dlctl looks first.
    private static func listen(
        _ control: RPCServer, _ folder: String, _ adopted: [ListenSockets.Adopted], _ environment: [String: String]
    ) async throws {
        for socket in adopted where socket.name == "control" {
            try await control.listen(on: .adopted(descriptor: socket.descriptor, path: socket.path))
        }
        var paths = [folder + "/" + ControlSocket.name]
        if let runtime = environment["XDG_RUNTIME_DIR"],
            DaemonClient.unusableRuntimeFolder(environment: environment) == nil
        {
            paths.append(runtime + "/dld/" + ControlSocket.name)
        }
        for (index, path) in paths.enumerated() {
            do {
                try await control.listen(on: .path(try SocketPath(path)))
            } catch {
                // The second place is a convenience.
                if index == 0 {
                    throw SetupFailure(
                        "\(path) cannot be used, so another dld-web may run here: \(error). Name another folder with --state-dir."
                    )
                }
            }
        }
    }

    private static func rules(_ settings: WebSettings, port: Int) throws(SetupFailure) -> Gate.Rules {
        var rules = Gate.Rules(own: geteuid(), port: port)
        rules.allowed = Set(settings.allowedPeers.compactMap(UserNames.user))
        rules.metrics = Set(settings.metricsPeers.compactMap(UserNames.user))
        rules.hosts = Set(settings.hosts.map { $0.lowercased() })
        if let file = settings.metricsTokenFile { rules.bearer = try WebArguments.secret(in: file) }
        return rules
    }

    // MARK: Life

    private func serve(until signals: UnixSignalsSequence) async {
        let (link, hub) = (link, hub)
        let follows = Task { await link.follow(hub) }
        let ticks = Task { await self.tick() }
        notifier.ready(status: "Serving the page on port \(site.rules.port)")
        for await signal in signals {
            guard signal == .sighup else { break }
            reload()
        }
        notifier.stopping(status: "Stopping")
        ticks.cancel()
        follows.cancel()
        await stop()
    }

    /// Each second: a sample of the rates, a sign of life, and a look at how long nobody has been here.
    private func tick() async {
        let watchdog = Watchdog(environment: environment)
        var sign = ContinuousClock.now
        while !Task.isCancelled {
            try? await Task.sleep(for: .seconds(1))
            hub.tick()
            if let watchdog, sign.duration(to: .now) >= .seconds(watchdog.interval.rawValue) {
                sign = .now
                notifier.watchdog()
            }
            if let exitOnIdle, let since = idleSince.withLockedValue({ $0 }),
                since.duration(to: .now) > .seconds(exitOnIdle)
            {
                logger.info("nobody is here; ending")
                kill(getpid(), SIGTERM)
                return
            }
        }
    }

    private func reload() {
        notifier.reloading()
        do {
            let settings = try arguments.settings(environment)
            site.rules = try Self.rules(settings, port: site.rules.port)
            var logger = logger
            logger.logLevel = settings.logLevel
            logger.notice("reloaded")
        } catch {
            logger.error("the settings have mistakes, so the old ones stay", metadata: ["error": "\(error)"])
        }
        notifier.ready(status: "Serving the page on port \(site.rules.port)")
    }

    private func stop() async {
        let limit = Task {
            try await Task.sleep(for: Self.grace)
            log.sink.flush()
            exit(0)
        }
        for channel in channels { try? await channel.close() }
        await control.stop()
        aria2?.close()
        hub.end(sessions: nil)
        try? await group.shutdownGracefully()
        await link.close()
        limit.cancel()
        log.sink.flush()
    }
}

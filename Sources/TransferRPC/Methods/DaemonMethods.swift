import TransferModel

/// What daemon this is, and what it supports.
public enum DaemonInfo: RPCMethod {
    public typealias Parameters = Nothing
    public static let name = "daemon.info"
    public static let summary = "Version, mode, paths and features of this daemon."
    public static let errors: [ErrorCode] = []

    public struct Result: WireObject, Hashable {
        public var name: String
        public var version: String
        public var `protocol`: Int
        public var pid: Int32
        public var uid: UserID
        public var mode: DaemonMode
        public var administrator: Bool?
        public var socket: String
        public var sockets: [String]?
        public var stateDirectory: String
        public var userDirectory: String?
        public var startedAt: Timestamp
        public var libcurl: String
        public var sqlite: String
        public var schemes: [String]?
        public var features: [String]
        public var damage: String?

        public init(
            name: String, version: String, protocol: Int, pid: Int32, uid: UserID, mode: DaemonMode,
            administrator: Bool? = nil, socket: String, sockets: [String]? = nil, stateDirectory: String,
            userDirectory: String? = nil, startedAt: Timestamp,
            libcurl: String, sqlite: String, schemes: [String]? = nil, features: [String], damage: String? = nil
        ) {
            self.name = name
            self.version = version
            self.protocol = `protocol`
            self.pid = pid
            self.uid = uid
            self.mode = mode
            self.administrator = administrator
            self.socket = socket
            self.sockets = sockets
            self.stateDirectory = stateDirectory
            self.userDirectory = userDirectory
            self.startedAt = startedAt
            self.libcurl = libcurl
            self.sqlite = sqlite
            self.schemes = schemes
            self.features = features
            self.damage = damage
        }

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case name, version, `protocol`, pid, uid, mode, administrator, socket, sockets, stateDirectory,
                userDirectory, startedAt,
                libcurl, sqlite, schemes, features, damage
        }

        public static let wireName = "Info"
        public static func field(_ key: CodingKeys) -> Field {
            switch key {
            case .name: .required(.string, "`dld`.")
            case .version: .required(.string, "Version of the program.")
            case .protocol: .required(.integer, "Version of this protocol: 1.")
            case .pid: .required(.integer, "Process id.")
            case .uid: .required(.userID, "User the daemon runs as.")
            case .mode: .required(.oneOf(DaemonMode.self), "One daemon for one user, or one for the system.")
            case .administrator:
                .optional(
                    .boolean,
                    "System daemon: whether the caller is an administrator, who sees all users' tasks and changes settings."
                )
            case .socket: .required(.string, "Path of the socket; if there are several, the best-known one.")
            case .sockets: .optional(.list(.string), "Paths of all sockets on which the daemon listens now.")
            case .stateDirectory: .required(.string, "Folder of the store.")
            case .userDirectory:
                .optional(
                    .string,
                    "System daemon: the caller's own folder. Tasks can name only files in it, and downloads without a folder go there. This call creates it if necessary."
                )
            case .startedAt: .required(.time, "When the daemon started.")
            case .libcurl: .required(.string, "Version of libcurl.")
            case .sqlite: .required(.string, "Version of SQLite.")
            case .schemes:
                .optional(
                    .list(.string),
                    "Schemes of URLs that a helper serves (docs/helpers.md), beside those that dld speaks.")
            case .features: .required(.list(.string), "Names of supported features; see Features.")
            case .damage: .optional(.string, "The state database is damaged: where, and what to do.")
            }
        }
    }
}

/// Whether one daemon serves its own user or every user of the system.
public enum DaemonMode: String, Codable, Sendable, CaseIterable {
    case user, system
}

/// Figures of the running daemon.
public enum DaemonStats: RPCMethod {
    public typealias Parameters = Nothing
    public static let name = "daemon.stats"
    public static let summary =
        "The peer's tasks by state and running transfers (all users' for administrators); rates, totals, memory, connections and log head of the whole daemon."
    public static let errors: [ErrorCode] = []

    public struct Result: WireObject, Hashable {
        public var tasks: [String: Int]
        public var activeTransfers: Int
        public var downloadRate: ByteRate
        public var uploadRate: ByteRate
        public var bytesReceived: ByteCount
        public var bytesSent: ByteCount
        public var memory: ByteCount
        public var connections: Int
        public var head: SequenceNumber
        public var uptime: Seconds
        public var damage: String?

        public init(
            tasks: [String: Int], activeTransfers: Int, downloadRate: ByteRate, uploadRate: ByteRate,
            bytesReceived: ByteCount, bytesSent: ByteCount, memory: ByteCount, connections: Int, head: SequenceNumber,
            uptime: Seconds, damage: String? = nil
        ) {
            self.tasks = tasks
            self.activeTransfers = activeTransfers
            self.downloadRate = downloadRate
            self.uploadRate = uploadRate
            self.bytesReceived = bytesReceived
            self.bytesSent = bytesSent
            self.memory = memory
            self.connections = connections
            self.head = head
            self.uptime = uptime
            self.damage = damage
        }

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case tasks, activeTransfers, downloadRate, uploadRate, bytesReceived, bytesSent, memory, connections, head,
                uptime, damage
        }

        public static let wireName = "Stats"
        public static func field(_ key: CodingKeys) -> Field {
            switch key {
            case .tasks:
                .required(
                    .map(.integer),
                    "Number of tasks in each state, every state present; of the volatile ones only this connection's.")
            case .activeTransfers: .required(.integer, "Transfers of these tasks that run now.")
            case .downloadRate: .required(.number, "Bytes per second received, over the last second.")
            case .uploadRate: .required(.number, "Bytes per second sent, over the last second.")
            case .bytesReceived: .required(.byteCount, "Received since the daemon started.")
            case .bytesSent: .required(.byteCount, "Sent since the daemon started.")
            case .memory: .required(.byteCount, "Resident memory.")
            case .connections: .required(.integer, "Open connections of clients.")
            case .head: .required(.sequence, "Sequence number of the newest stored event; 0 = none yet.")
            case .uptime: .required(.seconds, "Since the daemon started.")
            case .damage: .optional(.string, "The state database is damaged: where, and what to do.")
            }
        }
    }
}

/// The machine-readable description of this protocol.
public enum Discover: RPCMethod {
    public typealias Parameters = Nothing
    public static let name = "rpc.discover"
    public static let summary = "The OpenRPC document of this daemon."
    public static let errors: [ErrorCode] = []

    public struct Result: WireObject, Hashable {
        public var openrpc: String
        public var info: JSONValue
        public var methods: JSONValue
        public var components: JSONValue

        public init(openrpc: String, info: JSONValue, methods: JSONValue, components: JSONValue) {
            self.openrpc = openrpc
            self.info = info
            self.methods = methods
            self.components = components
        }

        public enum CodingKeys: String, CodingKey, CaseIterable {
            case openrpc, info, methods, components
        }

        public static let wireName = "OpenRPCDocument"
        public static func field(_ key: CodingKeys) -> Field {
            switch key {
            case .openrpc: .required(.string, "Version of the OpenRPC format.")
            case .info: .required(.any, "Title and version.")
            case .methods: .required(.list(.any), "Every method with parameters, result and errors.")
            case .components: .required(.any, "Schemas of the objects.")
            }
        }
    }
}

// Nothing else is imported here: the model has a `SourceFile` too, the path on the wire.
import CurlEngine

/// The engine's open source of an upload.
typealias OpenSource = SourceFile

// The page of gorl's viewer: draws what the server sends (see message.go), and asks for what the user wants.
import * as THREE from 'three';
import { OrbitControls } from './three/OrbitControls.js';

const $ = id => document.getElementById(id);
const dark = matchMedia('(prefers-color-scheme: dark)').matches;
const SKY = dark ? 0x52606d : 0xdfe6ec;
const TILES = dark ? ['#64717d', '#586470', '#7b8894'] : ['#d3dae0', '#c2cbd3', '#aab5bf'];
const AZIMUTH = 115 * Math.PI / 180, ELEVATION = 12 * Math.PI / 180;
const TILE = 1, GROUND = 160; // metres

THREE.Object3D.DEFAULT_UP.set(0, 0, 1); // as MuJoCo
const renderer = new THREE.WebGLRenderer({ canvas: $('canvas'), antialias: true });
renderer.setPixelRatio(Math.min(window.devicePixelRatio, 2));
renderer.shadowMap.enabled = true;
renderer.shadowMap.type = THREE.PCFShadowMap;

const scene = new THREE.Scene();
scene.background = new THREE.Color(SKY);
const camera = new THREE.PerspectiveCamera(30, 1, 0.05, 300);
const controls = new OrbitControls(camera, renderer.domElement);
controls.maxPolarAngle = Math.PI / 2 - 0.02; // not from under the ground
controls.enableDamping = true;

scene.add(new THREE.HemisphereLight(0xffffff, 0xa8b0b8, 1.9));
const sun = new THREE.DirectionalLight(0xfff4e4, 2.1);
const SUN = new THREE.Vector3(0.35, -0.75, 1.3);
sun.castShadow = true;
sun.shadow.mapSize.set(2048, 2048);
sun.shadow.bias = -0.0005;
scene.add(sun, sun.target);

const ground = new THREE.Group(); // planes, which go with the character
const body = new THREE.Group(), ghost = new THREE.Group();
const marks = new THREE.Group(); // where the character touches the ground
const arrow = new THREE.ArrowHelper(); // over the character: its commanded direction, as long as the speed
scene.add(ground, body, ghost, marks, arrow);
const mark = { geometry: new THREE.CircleGeometry(1, 24), material: new THREE.MeshBasicMaterial({
  color: 0xd0212a, fog: false, polygonOffset: true, polygonOffsetFactor: -2, polygonOffsetUnits: -2 }),
}; // as red as in films

// --- what the server sends ---

let world;          // the scene
let frame;          // the newest
let frames = 0;     // that have come
let first = true;   // no frame has been shown of this scene
let arrived = 0;    // when it came, ms
let blend = 1;      // how far the picture has gone from the frame before to it
let size = 1;       // of the character, m
let middle = 0;     // height at which the camera looks
const beside = new THREE.Vector3();
const root = { from: new THREE.Vector3(), to: new THREE.Vector3(), now: new THREE.Vector3() };

function geometryOf(s, mesh) {
  const [a, b, c] = s.Size;
  switch (s.Kind) {
    case 'plane': return new THREE.PlaneGeometry(GROUND, GROUND); // to collisions it has no end
    case 'sphere': return new THREE.SphereGeometry(a, 32, 24);
    case 'capsule': return new THREE.CapsuleGeometry(a, 2 * b, 12, 24).rotateX(Math.PI / 2); // along z
    case 'cylinder': return new THREE.CylinderGeometry(a, a, 2 * b, 32).rotateX(Math.PI / 2);
    case 'ellipsoid': return new THREE.SphereGeometry(1, 32, 24).scale(a, b, c);
    case 'box': return new THREE.BoxGeometry(2 * a, 2 * b, 2 * c);
  }
  const g = new THREE.BufferGeometry();
  g.setAttribute('position', new THREE.Float32BufferAttribute(mesh.Vertices, 3));
  g.setIndex(mesh.Faces);
  g.computeVertexNormals();
  return g;
}

// tiles is the texture of the ground: two tiles each way, with lines between them.
function tiles() {
  const n = 256, canvas = document.createElement('canvas');
  canvas.width = canvas.height = n;
  const c = canvas.getContext('2d');
  for (let i = 0; i < 4; i++) {
    c.fillStyle = (i === 0 || i === 3) ? TILES[0] : TILES[1];
    c.fillRect(i % 2 * n / 2, (i >> 1) * n / 2, n / 2, n / 2);
  }
  c.strokeStyle = TILES[2];
  c.lineWidth = 2;
  for (const at of [0, n / 2]) {
    c.strokeRect(at, -9, n, n + 18);
    c.strokeRect(-9, at, n + 18, n);
  }
  const t = new THREE.CanvasTexture(canvas);
  t.wrapS = t.wrapT = THREE.RepeatWrapping;
  t.repeat.set(GROUND / (2 * TILE), GROUND / (2 * TILE));
  t.anisotropy = 8;
  t.colorSpace = THREE.SRGBColorSpace;
  return t;
}

function begin(s) {
  world = s;
  first = true;
  document.title = $('title').textContent = s.title || 'gorl';
  for (const group of [ground, body, ghost]) {
    for (const m of group.children) { m.geometry.dispose(); m.material.dispose(); }
    group.clear();
  }
  const meshes = (s.meshes ?? []).map(m => geometryOf({ Size: [] }, m)); // shapes of the same mesh share it
  s.shapes.forEach((shape, i) => {
    const { R, G, B, A } = shape.Color, flat = shape.Kind === 'plane';
    const geometry = meshes[shape.Mesh] ?? geometryOf(shape);
    const alpha = A / 255, color = new THREE.Color().setRGB(R / A, G / A, B / A, THREE.SRGBColorSpace);
    const material = new THREE.MeshStandardMaterial({ color, roughness: 0.65, transparent: alpha < 1, opacity: alpha });
    const mesh = new THREE.Mesh(geometry, material);
    mesh.userData.index = i;
    if (flat) {
      mesh.material = new THREE.MeshStandardMaterial({ map: tiles(), roughness: 1 });
      mesh.receiveShadow = true;
      ground.add(mesh);
      return;
    }
    mesh.castShadow = mesh.receiveShadow = true;
    mesh.userData.from = { p: new THREE.Vector3(), q: new THREE.Quaternion() };
    mesh.userData.to = { p: new THREE.Vector3(), q: new THREE.Quaternion() };
    body.add(mesh);
    const other = new THREE.Mesh(geometry, new THREE.MeshStandardMaterial({
      color: color.clone().lerp(new THREE.Color(0xc4cbd0), 0.8), roughness: 1, transparent: true, opacity: 0.6 }));
    other.castShadow = true;
    const pose = () => ({ p: new THREE.Vector3(), q: new THREE.Quaternion() });
    other.userData = { index: i, from: pose(), to: pose() };
    ghost.add(other);
  });
  document.body.classList.toggle('pictures', !!s.pictures);
  $('clip-label').hidden = !s.clips;
  const clips = (s.clips ?? []).map((name, i) => new Option(i + 1 + ' ' + name, i));
  $('clip').replaceChildren(new Option('any', -1), ...clips);
  const impulse = Math.max(1, Math.round(0.5 * s.mass)); // half a metre a second
  $('impulse').max = 6 * impulse;
  $('impulse').value = impulse;
  label('impulse', 'N·s');
}

function place(mesh, poses, snap) {
  const at = 7 * mesh.userData.index, { from, to } = mesh.userData;
  from.p.copy(mesh.position);
  from.q.copy(mesh.quaternion);
  to.p.set(poses[at], poses[at + 1], poses[at + 2]);
  to.q.set(poses[at + 4], poses[at + 5], poses[at + 6], poses[at + 3]); // MuJoCo has w first
  if (snap) { from.p.copy(to.p); from.q.copy(to.q); }
}

function show(f) {
  const snap = first || f.episode !== frame?.episode;
  if (blend < 0.5) advance(1); // frames come faster than pictures: do not fall behind
  frame = f;
  frames++;
  arrived = performance.now();
  blend = 0;
  if (world.pictures) {
    if (f.picture) $('picture').src = 'data:image/png;base64,' + f.picture;
    first = false;
    tell(f);
    for (const f of waiting.splice(0)) f(frame);
    return;
  }
  for (const m of body.children) place(m, f.poses, snap);
  ghost.visible = !!f.ghost && $('ghost').value !== 'hidden';
  $('ghost-label').hidden = !f.ghost;
  if (f.ghost) for (const m of ghost.children) place(m, f.ghost, snap || !root.ghost);
  root.ghost = !!f.ghost;
  root.from.copy(root.now);
  root.to.set(...f.root);
  for (const m of ground.children) {
    const at = 7 * m.userData.index, p = f.poses;
    m.position.set(p[at], p[at + 1], p[at + 2]);
    m.quaternion.set(p[at + 4], p[at + 5], p[at + 6], p[at + 3]);
    m.userData.flat = Math.abs(m.quaternion.w) > 0.999;
    m.userData.home = m.position.clone();
  }
  if (snap) root.from.copy(root.to);
  if (first) frameCamera();
  touch(f.contacts ?? []);
  point(f.command);
  first = false;
  tell(f);
  for (const f of waiting.splice(0)) f(frame);
}

// touch puts a mark on the ground at every contact.
function touch(contacts) {
  for (let i = 0; 3 * i < contacts.length; i++) {
    if (i === marks.children.length) marks.add(new THREE.Mesh(mark.geometry, mark.material));
    marks.children[i].scale.setScalar(0.04 * size); // peeps out from under a foot
    marks.children[i].position.set(contacts[3 * i], contacts[3 * i + 1], contacts[3 * i + 2] + 0.004);
  }
  marks.children.forEach((m, i) => { m.visible = 3 * i < contacts.length; });
}

// point shows a command, if there is one that moves the character.
function point(c) {
  arrow.visible = c?.Speed > 0;
  if (!arrow.visible) return;
  arrow.setDirection(new THREE.Vector3(Math.cos(c.Direction), Math.sin(c.Direction), 0));
  arrow.setLength(0.5 * size * c.Speed / (c.MaxSpeed || c.Speed), 0.1 * size, 0.06 * size);
  arrow.setColor(0x2a6fbb);
}

// frameCamera looks at the character, and at the ghost beside it.
function frameCamera() {
  advance(1);
  body.updateMatrixWorld(true);
  const box = new THREE.Box3().setFromObject(body);
  size = Math.max(0.2, box.getSize(new THREE.Vector3()).length());
  middle = (box.max.z + box.min.z) / 2 - 0.06 * size; // above the panel of controls
  beside.set(Math.sin(AZIMUTH), -Math.cos(AZIMUTH), 0).multiplyScalar(0.62 * size);
  const reach = 0.76 * size * (frame.ghost ? 1.15 : 1) * Math.max(1, 1.3 / camera.aspect);
  const distance = reach / Math.tan(camera.fov * Math.PI / 360);
  followed.copy(root.to);
  controls.target.copy(root.to).setZ(middle);
  if (frame.ghost) controls.target.addScaledVector(beside, 0.5);
  camera.position.copy(controls.target).add(new THREE.Vector3(-Math.cos(AZIMUTH) * Math.cos(ELEVATION),
    -Math.sin(AZIMUTH) * Math.cos(ELEVATION), Math.sin(ELEVATION)).multiplyScalar(distance));
  scene.fog = new THREE.Fog(SKY, 3 * distance, 12 * distance);
  const reachOfSun = 3 * size, c = sun.shadow.camera;
  const sides = { left: -reachOfSun, right: reachOfSun, top: reachOfSun, bottom: -reachOfSun };
  Object.assign(c, { ...sides, near: 0.1, far: 20 * size });
  c.updateProjectionMatrix();
  controls.update();
}

// advance goes on from the frame before to the newest, t of the way.
function advance(t) {
  blend = t;
  for (const m of [...body.children, ...ghost.children]) {
    const { from, to } = m.userData;
    m.position.lerpVectors(from.p, to.p, t);
    m.quaternion.slerpQuaternions(from.q, to.q, t);
  }
  root.now.lerpVectors(root.from, root.to, t);
}

const followed = new THREE.Vector3(); // where the root was when the camera followed it
const here = new THREE.Vector3();

function draw() {
  requestAnimationFrame(draw);
  if (!world || world.pictures || !$('gone').hidden) return; // nothing to draw, or covered
  if (frame && !first) {
    if (blend < 1) advance(Math.min(1, (performance.now() - arrived) / (1000 * world.step / frame.rate)));
    if ($('follow').checked) {
      const dx = root.now.x - followed.x, dy = root.now.y - followed.y;
      camera.position.x += dx; camera.position.y += dy;
      controls.target.x += dx; controls.target.y += dy;
    }
    followed.copy(root.now);
    ghost.position.copy($('ghost').value === 'beside' ? beside : here);
    for (const m of ground.children) {
      if (!m.userData.flat) continue;
      const tile = 2 * TILE, home = m.userData.home;
      m.position.x = home.x + tile * Math.round((root.now.x - home.x) / tile);
      m.position.y = home.y + tile * Math.round((root.now.y - home.y) / tile);
    }
    arrow.position.copy(root.now).setZ(root.now.z + 0.3 * size);
    sun.target.position.copy(root.now);
    sun.position.copy(root.now).addScaledVector(SUN, 4 * size);
  }
  const w = window.innerWidth, h = window.innerHeight, canvas = renderer.domElement;
  if (canvas.dataset.size !== w + 'x' + h) {
    canvas.dataset.size = w + 'x' + h;
    renderer.setSize(w, h, false);
    camera.aspect = w / h;
    camera.updateProjectionMatrix();
  }
  controls.update();
  renderer.render(scene, camera);
}

// --- figures ---

const number = x => x.toFixed(Math.abs(x) < 100 ? 2 : Math.abs(x) < 1000 && !Number.isInteger(x) ? 1 : 0);

function tell(f) {
  const rows = [['episode', f.episode], ['time', number(f.time) + ' s'], ['reward', number(f.reward)],
    ['return', number(f.return)]];
  if (f.clip) rows.push(['clip', world.clips[f.clip.now]]);
  for (const name of Object.keys(f.figures ?? {}).sort()) {
    rows.push([name.replace(/^.*\//, '').replaceAll('_', ' '), number(f.figures[name])]);
  }
  if (f.last) {
    rows.push(['last episode', number(f.last.time) + ' s' + (f.last.terminated ? ', terminated' : '')],
      ['its return', number(f.last.return)]);
  }
  const table = $('table');
  while (table.rows.length > rows.length) table.deleteRow(-1);
  rows.forEach(([name, value], i) => {
    const row = table.rows[i] ?? table.insertRow();
    while (row.cells.length < 2) row.insertCell();
    row.cells[0].textContent = name;
    row.cells[1].textContent = value;
    row.className = name === 'last episode' ? 'group' : '';
  });
  $('pause').textContent = f.paused ? 'Go on' : 'Pause';
  $('rate').value = Math.log2(f.rate);
  $('rate-out').textContent = Number(f.rate.toPrecision(2)) + '×';
  if (f.clip && document.activeElement !== $('clip')) $('clip').value = f.clip.chosen;
  $('command').hidden = !f.command;
  if (f.command && !$('command').contains(document.activeElement)) {
    const c = f.command;
    $('speed').max = Math.max(2 * c.MaxSpeed, 1);
    $('direction').value = Math.atan2(Math.sin(c.Direction), Math.cos(c.Direction)) * 180 / Math.PI;
    $('speed').value = c.Speed;
    label('direction', '°');
    label('speed', 'm/s');
  }
}

function label(id, unit) { $(id + '-out').textContent = Number($(id).value) + ' ' + unit; }

// --- what the user asks for ---

let socket;
const ask = request => { if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(request)); };

// push pushes as seen on the screen: away from the viewer, nearer, left or right, along the ground.
function push(way = 'away') {
  const ahead = new THREE.Vector3().subVectors(controls.target, camera.position).setZ(0).normalize();
  const right = new THREE.Vector3(ahead.y, -ahead.x, 0);
  const d = { away: ahead, near: ahead.clone().negate(), right, left: right.clone().negate() }[way];
  d.multiplyScalar(Number($('impulse').value));
  ask({ do: 'push', impulse: [d.x, d.y, 0] });
}

const pause = () => ask({ do: frame?.paused ? 'go' : 'pause' });
const reset = () => ask({ do: 'reset' });
const step = () => ask({ do: 'step' });
const command = () => {
  label('direction', '°');
  label('speed', 'm/s');
  ask({ do: 'command', direction: Number($('direction').value) * Math.PI / 180, speed: Number($('speed').value) });
};

$('pause').onclick = pause;
$('reset').onclick = reset;
$('step').onclick = step;
$('push').onclick = () => push();
for (const b of document.querySelectorAll('[data-push]')) b.onclick = () => push(b.dataset.push);
$('rate').oninput = () => ask({ do: 'rate', rate: Math.min(4, Math.max(0.05, 2 ** Number($('rate').value))) });
$('impulse').oninput = () => label('impulse', 'N·s');
$('direction').oninput = $('speed').oninput = command;
$('clip').onchange = () => ask({ do: 'clip', clip: Number($('clip').value) });
$('task').onclick = () => ask({ do: 'task' });
for (const e of document.querySelectorAll('button, input, select')) { // after the mouse, keys are for the page
  e.addEventListener('pointerdown', () => { e.dataset.pointer = '1'; });
  for (const kind of ['change', 'click']) e.addEventListener(kind, () => {
    if (e.dataset.pointer && (kind === 'change' || e.localName === 'button')) e.blur();
    delete e.dataset.pointer;
  });
}

window.addEventListener('keydown', e => {
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest?.('select')) return;
  const arrows = { ArrowLeft: 'left', ArrowRight: 'right', ArrowUp: 'away', ArrowDown: 'near' };
  if (e.shiftKey && arrows[e.key]) push(arrows[e.key]);
  else if (e.key === ' ' && e.target.closest?.('button, [type=checkbox]')) return; // Space is the element's
  else if (e.key === ' ') pause();
  else if (e.key === '.') step();
  else if (e.key.toLowerCase() === 'p') push();
  else if (e.key.toLowerCase() === 'r') reset();
  else if (e.key.toLowerCase() === 'f') $('follow').checked = !$('follow').checked;
  else return;
  e.preventDefault();
});

// In a page of gorl serve the address names a run. The server starts a process for it, so it is asked only by a click.
const run = new URLSearchParams(location.search).get('run');
const play = run !== null;
$('again').hidden = play;

function cover(title, words = '', button = '') {
  $('gone').hidden = false;
  $('what').textContent = title;
  $('refused').textContent = words;
  $('play').hidden = !button;
  $('play').textContent = button;
}

function connect() {
  let refused = '';
  if (play) cover('Starting …');
  socket = new WebSocket(new URL('socket' + location.search, location.href).href.replace(/^http/, 'ws'));
  socket.onmessage = e => {
    const m = JSON.parse(e.data);
    if (m.refused) { refused = m.refused; return; }
    $('gone').hidden = true;
    if (m.scene) begin(m.scene); else show(m.frame);
  };
  socket.onclose = e => {
    if (e.code === 1008) refused = 'A request was refused: ' + e.reason;
    if (play) cover(refused ? 'It does not play.' : 'It has stopped.', refused, 'Play again');
    else cover('The server is gone.', refused);
    if (!play) setTimeout(connect, 1000);
  };
}
$('play').onclick = connect;
window.addEventListener('pagehide', () => socket?.close()); // the browser may keep the page

// For programs that drive the page: next resolves with the next frame.
const waiting = [];
window.viewer = { next: () => new Promise(resolve => waiting.push(resolve)), get frame() { return frame; },
  get frames() { return frames; },
  get shown() { return root.now.toArray(); },
  get arrow() { return arrow.visible ? new THREE.Vector3(0, 1, 0).applyQuaternion(arrow.quaternion).toArray() : null; },
  get info() { return { ...renderer.info.render }; },
  get camera() { return { position: camera.position.toArray(), target: controls.target.toArray() }; } };

if (play && window.top === window) cover('The newest checkpoint of ' + run, '', 'Play'); else connect();
draw();

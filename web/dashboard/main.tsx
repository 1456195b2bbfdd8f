import { render } from 'preact';
import { Dashboard } from './dashboard.tsx';

const place = document.getElementById('page');
if (place) render(<Dashboard />, place);
